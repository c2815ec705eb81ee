"""What the relations of facts mean: their names in one form, and which of them can have one value only.  Pure."""

from __future__ import annotations

from homed.memory.normal import folded

_FUNCTIONAL = """
name age birthday home job employer email phone spouse gender timezone native_language favourite_colour favourite_food
favourite_book favourite_film version status
"""
FUNCTIONAL = frozenset(_FUNCTIONAL.split())
"""Relations of which a subject has one value at a time: only here does a new value take the place of an old one.

Whoever knows more of his own passes them to ``facts.put``.
"""

PLACES = frozenset({"home", "employer", "job"})
"""Functional ones whose value may be told more closely (北京 → 北京市海淀区) without being another."""

LIKES, DISLIKES = "likes", "dislikes"

_EMPTY = """
mentioned mentions related related_to associated associated_with involves about concerns connected_to knows_about
提到 提及 相关 有关 关联 涉及 упоминает упомянул связан связана относится_к
"""
EMPTY = frozenset(_EMPTY.split())
"""Relations that say nothing."""

SYMMETRIC = frozenset({"spouse", "friend", "sibling", "partner", "colleague", "neighbour", "relative", "classmate"})
INVERSE = {
    "parent": "child", "child": "parent", "mother": "child", "father": "child", "son": "parent", "daughter": "parent",
    "boss": "report", "report": "boss", "teacher": "student", "student": "teacher", "grandparent": "grandchild",
    "grandchild": "grandparent", "owner": "pet", "pet": "owner", "mentor": "mentee", "mentee": "mentor",
}  # fmt: skip
"""How the other one stands to the first: A's boss is B, B's report is A."""

_ALIASES = {
    "name": "is_named named called is_called has_name full_name 名字 姓名 名叫 叫 имя зовут",
    "age": "is_aged aged years_old 年龄 岁数 возраст",
    "birthday": "born_on date_of_birth birth_date born birthdate 生日 出生日期 день_рождения родился родилась",
    "home": "lives_in live_in lives resides_in residence located_in_home home_address lives_at home_town 住在 居住在"
    " 居住地 住址 家 живет живет_в проживает_в место_жительства",
    "job": "works_as work_as occupation profession job_title is_a_profession 职业 工作是 从事 профессия работает_кем"
    " должность",
    "employer": "works_at works_for work_at work_for employed_by employed_at company 就职于 任职于 在职 工作单位 公司"
    " работает_в место_работы",
    "likes": "like loves love enjoys enjoy adores prefers prefer is_fond_of fan_of 喜欢 喜爱 热爱 爱 爱好 любит"
    " нравится обожает предпочитает",
    "dislikes": "dislike hates hate detests loathes does_not_like doesn't_like 讨厌 不喜欢 厌恶 恨 ненавидит не_любит",
    "email": "email_address mail 邮箱 电子邮件 почта",
    "phone": "phone_number telephone 电话 手机号 телефон",
    "spouse": "married_to husband wife 妻子 丈夫 老婆 老公 配偶 муж жена",
    "friend": "friend_of is_friend_of friends_with 朋友 друг подруга",
    "sibling": "brother sister brother_of sister_of 兄弟 姐妹 哥哥 姐姐 弟弟 妹妹 брат сестра",
    "colleague": "colleague_of coworker works_with 同事 коллега",
    "pet": "has_pet owns_pet 宠物 питомец",
    "timezone": "time_zone 时区 часовой_пояс",
    "native_language": "mother_tongue 母语 родной_язык",
    "favourite_colour": "favorite_color favourite_color favorite_colour 最喜欢的颜色 любимый_цвет",
    "favourite_food": "favorite_food 最喜欢的食物 любимая_еда",
    "favourite_book": "favorite_book любимая_книга",
    "favourite_film": "favorite_movie favorite_film favourite_movie любимый_фильм",
}
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()}


def canonical(relation: str) -> str:
    """The relation's one name: lower case, words joined by ``_``; "lives in", "住在" and "home" are one."""
    plain = "_".join(folded(relation).replace("ё", "е").replace("_", " ").replace("-", " ").split())
    return _NAMES.get(plain, plain)


CONTRARY = {LIKES: DISLIKES, DISLIKES: LIKES}
"""What can not hold of the same thing as well."""


def opposite(a: str, b: str) -> bool:
    """True for liking and disliking."""
    return CONTRARY.get(a) == b
