"""Questions typed in a hurry: letters that changed places, are missing or doubled; characters that sound alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from benchmarks.sets.banks import CHINESE, ENGLISH
from benchmarks.sets.chance import Chance
from benchmarks.sets.dialogue import Dialogue, Shape
from benchmarks.sets.rows import History, Set, joined

ASKED = ("same words", "other words", "reply", "changed")
SHAPE = Shape(each=5, changes=30, turns=300, questions=90)
MISTYPED = 60
"""Of a hundred longer words, so many are typed wrong."""

ALIKE = """
账帐 象像 再在 备被 份分 据剧 器气 负付 责则 租祖 机鸡 医一 药要 城成 项向 目木 部步 署属 过国 敏民 喜洗 欢换
养样 宠崇 物误 名明 字自 推退 荐见 电店 影应 礼里 种中 花画 读度 书输 租族 房防 手守 号好 码马 结节 果国 考靠
试事 坏怀 修休 师诗 傅富 放方 拿那 库裤 数术 源原 写些 语雨 言严 招找 组祖 用永 工公 作做 网往 站战 时十 间见
晚碗 几机 点典 钱前 少烧 价加 吃迟 哪那 里李 病并 因音 原员 王汪 李里 张章 刘留 陈晨 杨扬 赵照 黄皇 周州 吴无
徐许 孙损 胡湖 朱珠 高糕 林临 何和 郭锅 罗萝 梁凉 宋送 郑正 谢写 韩含 唐糖 冯逢 董懂 萧肖 程成 曹草 袁圆 邓等
许徐 傅父 沈审 曾增 彭朋 吕旅 伟委 洋羊 雨语 强墙 倩欠 丽力 翔祥 佳家 凯楷 星新 灯登 蓝兰 夜叶 云运
"""

_WORD = re.compile(r"[A-Za-z]{5,}")
_NEIGHBOURS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def typos() -> Set:
    """In two languages."""
    english = Dialogue(ENGLISH, "english typos").history("en", replace(SHAPE, changes=0))
    chinese = Dialogue(CHINESE, "chinese typos").history("zh", SHAPE)
    chance = Chance("typos")
    pairs = ALIKE.split()
    sounds = {pair[0]: pair[1] for pair in pairs} | {pair[1]: pair[0] for pair in pairs}
    return joined([
        _mistyped(english, lambda text: _letters(text, chance)),
        _mistyped(chinese, lambda text: _characters(text, sounds, chance)),
    ])  # fmt: skip


def _mistyped(of: History, typed: Callable[[str], str]) -> History:
    queries, made = of.queries, History(of.name, of.events)
    for query in queries:
        if query.kind in ASKED and (text := typed(query.text)) != query.text:
            made.ask(text, "typos", query.gold)
    return made


def _letters(text: str, chance: Chance) -> str:
    return _WORD.sub(lambda found: _one(found[0], chance) if chance.share(MISTYPED) else found[0], text)


def _one(word: str, chance: Chance) -> str:
    at = 1 + chance.below(len(word) - 2)
    how = chance.below(4)
    if how == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if how == 1:
        return word[:at] + word[at + 1 :]
    if how == 2:
        return word[:at] + word[at] + word[at:]
    row = next((row for row in _NEIGHBOURS if word[at].lower() in row), "")
    near = row[max(0, row.index(word[at].lower()) - 1)] if row else "x"
    return word[:at] + near + word[at + 1 :]


def _characters(text: str, sounds: dict[str, str], chance: Chance) -> str:
    places = [at for at, one in enumerate(text) if one in sounds]
    wrong = set(chance.some(places, 2))
    return "".join(sounds[one] if at in wrong else one for at, one in enumerate(text))
