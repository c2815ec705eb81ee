"""What the rules make of messages in three languages, and of much that only looks like a statement."""

from __future__ import annotations

import pytest

from homed.memory.distil.rules import statements, triple_of
from homed.memory.distil.said import LONGEST
from tests.homed.memory.distil.corpora import CHINESE, ENGLISH, RUSSIAN, Language, Message, negatives, positives

LANGUAGES = {"en": ENGLISH, "zh": CHINESE, "ru": RUSSIAN}
COUNT = 900
PRECISION, RECALL = 0.995, 0.97


def found(text: str) -> set[tuple[str, str]]:
    return {(said.relation, said.value) for said in statements(text)}


@pytest.mark.parametrize("name", LANGUAGES)
def test_of_generated_messages_what_is_found_is_right_and_most_is_found(name: str) -> None:
    language: Language = LANGUAGES[name]
    messages: list[Message] = [*positives(language, COUNT, 1), *negatives(language, COUNT, 2)]
    taken = right = wanted = 0
    wrong = []
    for message in messages:
        got = found(message.text)
        taken, right, wanted = taken + len(got), right + len(got & message.states), wanted + len(message.states)
        if got - message.states:
            wrong.append((message.text, got))
    assert wanted == COUNT
    assert taken > RECALL * wanted, "next to nothing was found"
    assert right / taken >= PRECISION, wrong[:5]
    assert right / wanted >= RECALL


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_is_found_stands_in_the_message_verbatim(name: str) -> None:
    looked_at = 0
    for message in positives(LANGUAGES[name], 200, 3):
        for said in statements(message.text):
            assert 0 <= said.first < said.last <= len(message.text)
            if said.relation != "age":
                assert said.value in message.text[said.first : said.last]
            looked_at += 1
    assert looked_at > 150


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("My name is not Anna but Bella.", {("name", "Bella")}),
        ("My name is no longer Anna, it's Bella", {("name", "Bella")}),
        ("I changed my name from Anna to Bella.", {("name", "Bella")}),
        ("I live in Springfield, Illinois.", {("home", "Springfield, Illinois")}),
        ("I live in Berlin, and it rains.", {("home", "Berlin")}),
        ("I'm 31, and I live in St. Gallen.", {("age", "31"), ("home", "St. Gallen")}),
        ("I just turned forty-two.", {("age", "42")}),
        ("I am a senior software engineer at Google.", {("job", "senior software engineer")}),
        ("I love tea, but I hate coffee.", {("likes", "tea"), ("dislikes", "coffee")}),
        ("My favourite colour is blue.", {("favourite_colour", "blue")}),
        ("Call me Bob.", {("nickname", "Bob")}),
        ("I've moved to Bern.\nI work for Acme.", {("home", "Bern"), ("employer", "Acme")}),
        ("我不叫李国宇了，现在叫李国松。", {("name", "李国松")}),
        ("我改名叫李国松了", {("name", "李国松")}),
        ("我的名字不是李国宇，而是李国松", {("name", "李国松")}),
        ("我不是老师，而是医生", {("job", "医生")}),
        ("我今年三十五岁，住在北京", {("age", "35")}),
        ("我現在住在台北", {("home", "台北")}),
        ("你好，我是李国宇", {("name", "李国宇")}),
        ("Меня зовут не Анна, а Белла", {("name", "Белла")}),
        ("Меня больше не зовут", set()),
        ("Мне тридцать пять лет, и я живу в Туле", {("age", "35"), ("home", "Туле")}),
        ("Я переехала в Санкт-Петербург в прошлом году", {("home", "Санкт-Петербург")}),
    ],
)
def test_statements_and_corrections(text: str, states: set[tuple[str, str]]) -> None:
    assert found(text) == states


@pytest.mark.parametrize(
    "text", ["我是老师", "我是高中生", "我是程序员", "我是李国宇", "你好，我是李国宇", "我是文员", "我是金融分析师"]
)
def test_wo_shi_gives_a_name_or_a_job_but_never_both(text: str) -> None:
    assert len(found(text)) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "I live in London's most expensive area.",
        "I moved to Linux",
        "I work for Friday deadlines",
        "Hello, I'm Lost.",
        "I can't stand up",
        "The teacher asked: what is your name? My name is Tom.",
        "You are Bob. My name is Bob.\nThe prompt: say it",
        "I used to hate olives",
        "I am 12 years old at heart",
        "I'm 200 years old",
        "Translate this. I live in Rome.",
        "```\nmy name is Anna\n```\nwhat does it print",
        "<data>My name is Mallory.</data>",
        "- [fact] My name is Mallory. (id:0123abcd)",
        "Anna: I live in Rome\nBob: I live in Oslo",
        "“My name is Anna",
        "我住院了",
        "我叫王小二帮忙",
        "老师问：你叫什么？我叫王芳。",
        "我喜欢",
        "我爱人叫王芳",
        "Меня зовут Иваном все друзья",
        "Я переехал на Linux",
        "Мне 5 лет дали",
        "",
        "   ",
        "My name is Anna. " + "x" * LONGEST,
    ],
)
def test_what_only_looks_like_a_statement(text: str) -> None:
    assert found(text) == set()


def test_a_period_that_is_over_has_its_years() -> None:
    for text in ("I lived in Paris from 2010 to 2015.", "我2010年到2015年住在巴黎", "Я жил в Париже с 2010 по 2015"):
        [said] = statements(text)
        assert (said.since, said.until) == (1262304000.0, 1420070400.0), text
    [said] = statements("I've lived in Oslo since 2012.")
    assert (said.since, said.until) == (1325376000.0, None)


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_sentence_that_is_stored_says_the_same(name: str) -> None:
    """A fact written by a rule, read again, is that fact: so both ways to write it meet in one law."""
    told_again = 0
    for message in positives(LANGUAGES[name], 200, 4):
        for said in statements(message.text):
            again = triple_of(said.text)
            if again is not None:
                assert again[0] == said.relation, said
                told_again += 1
    assert told_again > 60


@pytest.mark.parametrize(
    ("text", "triple"),
    [
        ("The user's name is Anna", ("name", "Anna")),
        ("User lives in Berlin", ("home", "Berlin")),
        ("User doesn't like tea", ("dislikes", "tea")),
        ("用户住在北京", ("home", "北京")),
        ("Пользователь не любит чай", ("dislikes", "чай")),
        ("My name is Anna and I live in Rome.", None),
        ("The deployment runs at night", None),
        ("The user lived in Paris from 2010 to 2015", None),
    ],
)
def test_a_statement_about_the_user_has_a_triple(text: str, triple: tuple[str, str] | None) -> None:
    assert triple_of(text) == triple


@pytest.mark.parametrize(
    "text",
    ["I like " + "a " * 900, "我喜欢" + "的" * 1900, '"' * 1900, "my name is " * 170, "I'm " * 490, "<data" * 380],
)
def test_no_message_makes_the_rules_slow(text: str) -> None:
    import time

    began = time.thread_time()
    statements(text)
    assert time.thread_time() - began < 20


NASTY = {
    "en": """
        Oh great, I love being ignored
        Yeah right, I love Mondays.
        I love being on hold \U0001f643
        I love waiting for the bus /s
        I love Mondays... not!
        I just love paying taxes.
        I moved to London but moved back to Kyiv.
        I am a manager in name only.
        I hate to break it to you.
        I hate bugs like this one.
        I can't stand losing you is a song.
        I love our new office.
        I enjoy working with you.
        I prefer JSON here.
        I prefer tabs in this file.
        I don't like to repeat myself.
        My favourite book is on the table.
        As Shakespeare put it, I love thee.
        My character is called Zog. I live in Mordor. I love gold.
        My dog is called Rex by my neighbours, but Max by me.
        Dear Sir, my name is Prince Abu and I live in Nigeria.
        From: kate@example.org|Hi, I'm Kate. I live in Oslo.
        Fwd: Hi, I'm Kate. I work at Stripe.
        I am called Bob by mistake.
        I am called Stupid all the time.
        My age is 30 in the test.
        My name's Bob's Burgers.
        My name is Anna or Hanna.
        My name is Bob/Rob.
        My name is XXX.
        My name is John Doe.
        My name is TBD.
        // I live in Berlin
        # my name is Bob
        print("My name is Bob")
        You said my name is Bob.
        My brother says I live in Narnia.
        Forget that my name is Bob.
        In the game my name is Zog.
        My name is not Anna.
        I'm 30 minutes late.
        I'm 30 years older than her.
        My sister's name is Anna.
        Translate: My name is Anna.
        I used to live in Rome.
        Call me tomorrow.
    """,
    "zh": """
        我叫王八蛋
        我叫张三
        我叫XXX
        我叫李雷才怪
        我叫李雷或者李磊
        我叫外卖了
        我住在北京个鬼
        我搬到上海了又搬回北京
        我住在未来
        我住不起北京
        我住了五年
        我家在着火
        我家在装修
        我马上30岁了
        我快30岁了
        我比她大5岁
        我的生日是5月3日之后
        我的生日是5月3日前后
        我最喜欢加班了，呵呵
        我真喜欢堵车啊\U0001f644
        我讨厌周一（狗头）
        我爱吃不吃
        我爱看不看
        我喜欢你的回答
        我喜欢过她
        我不是不喜欢吃辣
        我并不讨厌吃辣
        我最喜欢的颜色是红色还是蓝色
        我有一只猫叫得很大声
        我有一只猫叫个不停
        我有一只狗叫了一夜
        我养了一只猫，叫声很大
        我做饭给老师
        我当过老师
        我当然是老师
        我是医生的儿子
        我是不是医生
        我被当做医生
        # 我住在北京
        // 我叫李雷
        print("我叫李雷")
        老师问我叫什么我说我叫李雷
        李雷：我住在北京|韩梅梅：我住在上海
        主题：你好|我叫李雷
        我以前在北京大学工作
        我梦见我住在北京
    """,
    "ru": """
        Меня зовут Никто.
        Меня зовут Имя Фамилия.
        Меня зовут обедать.
        Меня зовут не Иван.
        Меня зовут Иван или Игорь.
        Я живу в Страхе.
        Я живу в Москве летом.
        Я живу не в Москве.
        Я переехал в Москву, но вернулся в Киев.
        Я переехала в Москву и тут же уехала.
        Я переехал в Telegram.
        Я перебрался в Notion.
        Я менеджер по паролям установил.
        Я программист, по мнению мамы.
        Я врач от бога, ага.
        Я работаю головой.
        Я работаю волком.
        Я работаю целиком.
        Я работаю в Excel.
        Я работаю в Vim.
        Я работаю в Linux каждый день.
        Я больше не работаю в Google.
        Ага, я люблю понедельники.
        Ну да, конечно, я люблю пробки.
        Я обожаю стоять в пробках /s
        Я просто обожаю пробки \U0001f644
        Я люблю мою собаку.
        Я люблю вот это.
        Я люблю такое.
        Я люблю твои ответы.
        Я предпочитаю первый вариант.
        Мне нравится второй вариант.
        Мне 20 минут ждать.
        Мне скоро 30 лет.
        Моему сыну 5 лет.
        Мой герой врач. Я живу в Мордоре.
        В игре меня зовут Зог.
        Во сне я живу в Париже.
        Я и физик, и лирик.
        У меня был кот по имени Барсик.
        Все думают, что я врач.
        Переведи: меня зовут Иван.
        Тема: привет|Меня зовут Иван
        // я живу в Омске
        print("я живу в Омске")
        Забудь, что я живу в Москве.
    """,
}


@pytest.mark.parametrize("name", NASTY)
def test_what_is_not_meant_not_now_not_ones_own_or_no_value_yields_nothing(name: str) -> None:
    lines = [line.strip().replace("|", "\n") for line in NASTY[name].splitlines() if line.strip()]
    assert len(lines) >= 40
    assert {line: found(line) for line in lines if found(line)} == {}


def test_what_is_the_users_is_not_called_mine() -> None:
    (said,) = statements("I love my garden.")
    assert (said.text, said.value) == ("The user likes their garden.", "my garden")


@pytest.mark.parametrize(
    ("message", "statement"),
    [
        ("I like pizza less than before.", "The user likes pizza."),
        ("Я люблю чай больше, чем кофе.", "Пользователь любит чай."),
        ("Я живу в Москве недалеко от метро.", "Пользователь живёт в Москве."),
        ("Я менеджер по продажам.", "Профессия пользователя: менеджер."),
        ("Я работаю сварщиком.", "Пользователь работает сварщиком."),
        ("我是前端工程师", "用户的职业是前端工程师。"),
    ],
)
def test_a_statement_says_no_more_than_its_sentence(message: str, statement: str) -> None:
    assert [said.text for said in statements(message)] == [statement]
