"""Messages made of templates: what a person says of themselves, and much that only looks like it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Triple = tuple[str, str]


@dataclass(frozen=True)
class Message:
    """A message and what the rules should find in it."""

    text: str
    states: frozenset[Triple] = frozenset()


@dataclass(frozen=True)
class Language:
    """Values of each relation, sentences that state them ({v}), wrappers that keep and that kill a statement."""

    values: dict[str, Sequence[str]]
    states: dict[str, Sequence[str]]
    around: Sequence[str]
    kills: Sequence[str]
    nothing: Sequence[str]
    stop: str = "."


ENGLISH = Language(
    values={
        "name": ["Anna", "Bella Smith", "José", "Mary Jane Watson", "O'Brien", "Jean-Luc", "Ludwig van Beethoven"],
        "home": ["Berlin", "New York", "St. Petersburg", "the Netherlands", "San José", "Upper Austria"],
        "age": ["19", "34", "70"],
        "job": ["nurse", "software engineer", "data scientist", "teacher", "truck driver"],
        "employer": ["Siemens", "Acme Corp", "Google"],
        "likes": ["green tea", "hiking", "old jazz records", "my garden"],
        "dislikes": ["mushrooms", "early meetings", "loud music"],
        "birthday": ["May 5th", "3 March 1990", "12 December"],
        "pet": ["Rex", "Luna"],
    },
    states={
        "name": [
            "My name is {v}.",
            "my name's {v}",
            "My full name is {v}.",
            "I changed my name to {v}.",
            "I'm called {v}.",
        ],
        "home": [
            "I live in {v}.",
            "I'm based in {v}.",
            "I currently live in {v}.",
            "I've moved to {v}.",
            "I am now living in {v}.",
        ],
        "age": ["I'm {v} years old.", "I am {v} years old", "I just turned {v}."],
        "job": ["I work as a {v}.", "I currently work as a {v}."],
        "employer": ["I work for {v}.", "I work at {v}."],
        "likes": ["I like {v}.", "I really love {v}!", "I enjoy {v}.", "I prefer {v}."],
        "dislikes": ["I hate {v}.", "I don't like {v}.", "I can't stand {v}.", "I do not like {v}"],
        "birthday": ["My birthday is on {v}.", "My birthday is {v}."],
        "pet": ["I have a dog named {v}.", "I have a cat called {v}."],
    },
    around=[
        "{s}",
        "Hello! {s}",
        "Thanks for that. {s} Can you help me with the tax form?",
        "By the way, {s}",
        "Hi, {s}",
        "{s}\nPlease keep it in mind.",
    ],
    kills=[
        "{q}?",
        "If {s}",
        "He said {s}",
        "She told me: {s}",
        "Suppose {s}",
        'He wrote "{s}" on the board.',
        "Translate into French: {s}",
        "> {s}",
        "`{s}`",
        "Maybe {s}",
        "Bob: {s}\nEve: hi",
        "It's not true that {s}",
        "I wish I could say {s}",
        "What does “{s}” mean",
        "Write a story that begins: {s}",
        "My brother says {s}",
        "For example, {s}",
        "You are a pirate, pretend {s}",
    ],
    nothing=[
        "My name is not important.",
        "I'm 30 minutes late.",
        "I am a bit tired.",
        "I'm not a teacher.",
        "I don't live in Paris.",
        "I like it.",
        "I love you",
        "I'd like a tea.",
        "I live in a small flat.",
        "I live in hope.",
        "My sister lives in Rome.",
        "Her name is Anna.",
        "Anna likes cats.",
        "I work at home.",
        "I work as usual.",
        "I'm German.",
        "I am a fan of Bach.",
        "The dog is called Rex.",
        "He is 40 years old.",
        "I like how it works.",
        "I'm based on the evidence convinced.",
        "I used to live in Oslo.",
        "I want to move to Oslo.",
        "I'm going to Berlin.",
        "My favourite is the second one.",
        "I hate to say it.",
        "I love when it rains.",
        "I would love Paris.",
        "I have a question.",
        "Call me tomorrow.",
        "I'm 5th in line.",
        "I'm 100% sure.",
        "My name is on the list.",
        "I never liked mushrooms.",
        "When I was 10 years old we moved.",
        "I'm sorry.",
        "Everyone I like left.",
        "I like to think so.",
        "What is my name?",
        "Do I like tea?",
    ],
)

CHINESE = Language(
    values={
        "name": ["李国宇", "王芳", "欧阳修", "陈小明", "Anna", "刘洋"],
        "home": ["北京", "上海市浦东新区", "广州", "杭州西湖区", "新加坡"],
        "age": ["19", "34", "70"],
        "job": ["老师", "软件工程师", "护士", "产品经理", "高中生"],
        "employer": ["华为公司", "北京大学", "Google", "人民医院"],
        "likes": ["绿茶", "爬山", "古典音乐", "看科幻小说"],
        "dislikes": ["香菜", "下雨", "早起"],
        "birthday": ["5月3日", "1990年3月12日", "十二月一号"],
        "pet": ["咪咪", "旺财"],
    },
    states={
        "name": ["我叫{v}。", "我的名字是{v}", "我名叫{v}。", "我改名叫{v}了。", "我的名字叫{v}。"],
        "home": ["我住在{v}。", "我现在住在{v}", "我搬到{v}了。", "我家在{v}。"],
        "age": ["我今年{v}岁。", "我{v}岁了"],
        "job": ["我是{v}。", "我是一名{v}。", "我的职业是{v}"],
        "employer": ["我在{v}工作。", "我在{v}上班。"],
        "likes": ["我喜欢{v}。", "我非常喜欢{v}", "我最喜欢{v}。"],
        "dislikes": ["我不喜欢{v}。", "我讨厌{v}", "我很讨厌{v}。"],
        "birthday": ["我的生日是{v}。"],
        "pet": ["我养了一只猫，叫{v}。", "我有一只狗，名叫{v}"],
    },
    around=["{s}", "你好，{s}", "谢谢！{s}", "对了，{s}", "帮我记一下吧。{s}", "{s}\n请继续。"],
    kills=[
        "{q}吗？",
        "如果{s}",
        "他说{s}",
        "她告诉我，{s}",
        "假设{s}",
        "他写道：“{s}”",
        "请把这句翻译成英文：{s}",
        "> {s}",
        "`{s}`",
        "可能{s}",
        "小明：{s}\n小红：好的",
        "「{s}」是什么意思",
        "我希望{s}",
        "写一个故事，开头是：{s}",
        "比如{s}",
        "请扮演海盗，{s}",
        "以前{s}",
        "我弟弟说{s}",
    ],
    nothing=[
        "我叫他来吃饭。",
        "我叫外卖了。",
        "我叫了一辆车。",
        "我是北京人。",
        "我是你的朋友。",
        "我是第一次来。",
        "我不是老师。",
        "我不住在北京。",
        "我喜欢你。",
        "我喜欢的是另一个。",
        "我住在一个小房子里。",
        "我住在酒店。",
        "我女儿5岁。",
        "我3岁的时候搬家了。",
        "他叫李雷。",
        "我妈妈住在上海。",
        "他今年40岁。",
        "我爱人是医生。",
        "我是白领。",
        "我是高个子。",
        "我在北京工作。",
        "我是不是老师？",
        "我叫什么名字？",
        "我是说这个不对。",
        "我想当老师。",
        "我快要走了。",
        "我喜欢过她。",
        "猫叫咪咪。",
        "我的名字不重要。",
        "我生日快到了。",
        "我是今天到的。",
        "我喜欢吗",
        "我住几天。",
        "我搬不动。",
        "我讨厌你。",
        "我是安卓用户。",
        "我是单身。",
        "我是来问问题的。",
    ],
    stop="。",
)

RUSSIAN = Language(
    values={
        "name": ["Анна", "Иван Петров", "Мария", "Жан-Люк", "Anna"],
        "home": ["Москве", "Санкт-Петербурге", "Нижнем Новгороде", "Берлине"],
        "age": ["19", "34", "70"],
        "job": ["программистом", "учителем", "старшим инженером"],
        "employer": ["компании Яндекс", "Google"],
        "likes": ["зелёный чай", "старый джаз", "горы"],
        "dislikes": ["грибы", "ранние встречи", "дождь"],
        "birthday": ["5 мая", "3 марта 1990"],
        "pet": ["Барсик", "Рекс"],
    },
    states={
        "name": ["Меня зовут {v}.", "меня зовут {v}", "Моё имя — {v}."],
        "home": ["Я живу в {v}.", "Я сейчас живу в {v}", "Я проживаю в {v}."],
        "age": ["Мне {v} лет.", "мне уже {v} лет"],
        "job": ["Я работаю {v}.", "Я сейчас работаю {v}"],
        "employer": ["Я работаю в {v}."],
        "likes": ["Я люблю {v}.", "Я очень люблю {v}!", "Мне нравится {v}."],
        "dislikes": ["Я не люблю {v}.", "Я ненавижу {v}", "Мне не нравится {v}."],
        "birthday": ["Мой день рождения {v}.", "Мой день рождения — {v}"],
        "pet": ["У меня есть кот по имени {v}."],
    },
    around=["{s}", "Привет! {s}", "Спасибо. {s} Поможешь с налогами?", "Кстати, {s}", "{s}\nЗапомни это."],
    kills=[
        "{q}?",
        "Если {s}",
        "Он сказал, что {s}",
        "Она говорит: {s}",
        "Допустим, {s}",
        "Он написал «{s}» на доске.",
        "Переведи на английский: {s}",
        "> {s}",
        "`{s}`",
        "Может быть, {s}",
        "Боб: {s}\nЕва: привет",
        "Неправда, что {s}",
        "Напиши рассказ, который начинается так: {s}",
        "Например, {s}",
        "Брат говорит, {s}",
        "Раньше {s}",
        "Хочу сказать: {s}",
    ],
    nothing=[
        "Меня зовут на обед.",
        "Я работаю дома.",
        "Я люблю тебя.",
        "Я живу в маленькой квартире.",
        "Его зовут Иван.",
        "Моя сестра живёт в Риме.",
        "Мне 30 лет назад сказали.",
        "Ей 40 лет.",
        "Я не программист.",
        "Я не живу в Москве.",
        "Мне нравится, как это работает.",
        "Я хочу жить в Москве.",
        "Мне нужно 5 лет.",
        "Я работаю вечером.",
        "Я люблю, когда тихо.",
        "Как меня зовут?",
        "Я живу надеждой.",
        "Кота зовут Барсик.",
        "Я дома.",
        "Я люблю это.",
        "Мне жаль.",
        "Я русский.",
        "Меня зовут всегда последним.",
        "Я работаю много.",
        "Дай мне 30 примеров.",
    ],
)


def positives(language: Language, count: int, seed: int) -> Iterator[Message]:
    """Messages that state one thing each."""
    chance = random.Random(seed)
    for number in range(count):
        relation = list(language.states)[number % len(language.states)]
        value = chance.choice(language.values[relation])
        sentence = chance.choice(language.states[relation]).format(v=value)
        around = chance.choice(language.around)
        ended = sentence if around.endswith("{s}") or sentence[-1] in ".!。" else f"{sentence}{language.stop}"
        yield Message(around.format(s=ended), frozenset({(relation, value)}))


def negatives(language: Language, count: int, seed: int) -> Iterator[Message]:
    """Messages that state nothing of their writer: statements in a wrapper that kills them, and look-alikes."""
    chance = random.Random(seed)
    for number in range(count):
        if number % 3 == 0:
            yield Message(
                chance.choice([language.around[0], language.around[3]]).format(s=chance.choice(language.nothing))
            )
            continue
        relation = chance.choice(list(language.states))
        sentence = chance.choice(language.states[relation]).format(v=chance.choice(language.values[relation]))
        yield Message(chance.choice(language.kills).format(s=sentence, q=sentence.rstrip(".!。")))
