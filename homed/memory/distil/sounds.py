"""How names sound that are written in another script: Chinese by its pinyin, Russian by its letters.  Pure.

Whether 陈伟 is Chen Wei can be looked up; whether 柏林 is Berlin can be heard: b-l-n and b-r-l-n.  Only characters that
foreign names are written with are listened to, since of a whole page some would sound like anything.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import cache

_ROWS = """
a啊 ai埃 an鞍 ang肮 ao凹 ba芭 bai白 ban斑 bang邦 bao苞 bei杯 ben奔 beng崩 bi逼 bian鞭 biao标 bie鳖 bin彬 bing兵 bo玻
bu捕 ca擦 cai猜 can餐 cang苍 cao操 ce厕 ceng层 cha插 chai拆 chan搀 chang昌 chao超 che车 chen郴 cheng撑 chi吃 chong充
chou抽 chu初 chuai揣 chuan川 chuang疮 chui吹 chun春 chuo戳 ci疵 cong聪 cou凑 cu粗 cuan蹿 cui摧 cun村 cuo磋 da搭 dai呆
dan耽 dang当 dao刀 de德 deng蹬 di堤 dian颠 diao碉 die跌 ding丁 diu丢 dong东 dou兜 du督 duan端 dui堆 dun墩 duo掇 e蛾
en恩 er而 fa发 fan藩 fang坊 fei菲 fen芬 feng丰 fo佛 fou否 fu夫 ga噶 gai该 gan干 gang冈 gao篙 ge哥 gei给 gen根 geng耕
gong工 gou钩 gu辜 gua刮 guai乖 guan棺 guang光 gui瑰 gun辊 guo锅 ha哈 hai骸 han酣 hang夯 hao壕 he呵 hei嘿 hen痕 heng哼
hong轰 hou喉 hu呼 hua花 huai槐 huan欢 huang荒 hui灰 hun荤 huo豁 ji击 jia嘉 jian歼 jiang僵 jiao蕉 jie揭 jin巾 jing荆
jiong炯 jiu揪 ju鞠 juan捐 jue撅 jun均 ka喀 kai开 kan刊 kang康 kao考 ke坷 ken肯 keng坑 kong空 kou抠 ku枯 kua夸 kuai块
kuan宽 kuang匡 kui亏 kun坤 kuo括 la垃 lai莱 lan蓝 lang琅 lao捞 le勒 lei雷 leng棱 li厘 lia俩 lian联 liang粮 liao撩
lie列 lin琳 ling玲 liu溜 long龙 lou楼 lu芦 lv驴 luan峦 lve掠 lun抡 luo萝 ma妈 mai埋 man瞒 mang芒 mao猫 me么 mei玫
men门 meng萌 mi眯 mian棉 miao苗 mie蔑 min民 ming明 miu谬 mo摸 mou谋 mu拇 na拿 nai氖 nan南 nang囊 nao挠 ne呢 nei馁
nen嫩 neng能 ni妮 nian蔫 niang娘 niao鸟 nie捏 nin您 ning柠 niu牛 nong脓 nu奴 nv女 nuan暖 nve虐 nuo挪 o哦 ou欧 pa啪
pai拍 pan攀 pang乓 pao抛 pei呸 pen喷 peng砰 pi坯 pian篇 piao飘 pie撇 pin拼 ping乒 po坡 pu扑 qi期 qia掐 qian牵 qiang枪
qiao橇 qie切 qin钦 qing青 qiong琼 qiu秋 qu趋 quan圈 que缺 qun裙 ran然 rang瓤 rao饶 re惹 ren壬 reng扔 ri日 rong戎 rou揉
ru茹 ruan软 rui蕊 run闰 ruo若 sa撒 sai腮 san三 sang桑 sao搔 se瑟 sen森 seng僧 sha莎 shai筛 shan珊 shang墒 shao梢 she奢
shen砷 sheng声 shi师 shou收 shu蔬 shua刷 shuai摔 shuan栓 shuang霜 shui谁 shun吮 shuo说 si斯 song松 sou搜 su苏 suan酸
sui虽 sun孙 suo蓑 ta塌 tai胎 tan坍 tang汤 tao掏 te特 teng藤 ti梯 tian天 tiao挑 tie贴 ting厅 tong通 tou偷 tu凸 tuan湍
tui推 tun吞 tuo拖 wa挖 wai歪 wan豌 wang汪 wei威 wen瘟 weng嗡 wo挝 wu巫 xi昔 xia瞎 xian掀 xiang相 xiao萧 xie楔 xin薪
xing星 xiong兄 xiu休 xu墟 xuan轩 xue靴 xun勋 ya压 yan焉 yang殃 yao邀 ye椰 yi一 yin茵 ying英 yo哟 yong拥 you幽 yu迂
yuan鸳 yue曰 yun耘 za匝 zai栽 zan咱 zang赃 zao遭 ze责 zei贼 zen怎 zeng增 zha扎 zhai摘 zhan瞻 zhang樟 zhao招 zhe遮
zhen珍 zheng蒸 zhi芝 zhong中 zhou舟 zhu珠 zhua抓 zhuai拽 zhuan专 zhuang桩 zhui椎 zhun谆 zhuo捉 zi兹 zong鬃 zou邹 zu租
zuan钻 zui嘴 zun尊 zuo昨
"""
"""The first character of each syllable, in the order of the common characters in GB 2312, which is that of pinyin."""

_OTHER = dict(
    zip(
        "沈曾单仇解查乐朴重长行",
        ["shen", "zeng", "shan", "qiu", "xie", "zha", "yue", "piao", "chong", "chang", "hang"],
        strict=True,
    )
)
"""Readings that names have besides."""

_FOREIGN = frozenset(
    "多阿埃艾爱安昂奥澳巴班邦鲍贝本比彼宾波伯柏卑勃博布查达戴丹道德登邓迪蒂丁杜敦顿厄恩尔法凡范菲费芬弗夫福盖冈戈歌格葛"
    "根谷瓜圭哈汉豪赫亨侯胡华霍基吉加贾佳杰津卡凯坎康考科柯克肯库昆拉莱兰朗劳勒雷蕾李理丽利莉黎莲列琳伶隆卢鲁路露伦罗"
    "洛吕马玛麦曼茂梅门蒙米密敏莫墨默姆慕穆纳娜奈内尼妮涅宁纽努诺挪欧帕潘庞佩彭皮蒲普奇齐契恰乔切琴丘茹儒瑞萨塞赛桑森"
    "沙莎绍舍圣施史士世舒斯丝司松苏索塔泰坦汤唐陶特腾提图土托瓦汪韦维卫魏温翁沃乌武伍西希锡夏谢辛欣休雅亚延扬耶叶伊易"
    "因英约泽扎詹珍芝治茨卓佐兹黑威得迈林堡"
)
"""Characters that the names of foreign people and places are written with."""

MOST = 100_000
"""Characters of a text that are listened to."""

LONGEST = 7
"""Characters of one name."""

_CYRILLIC = dict(
    zip(
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
        [
            "a",
            "b",
            "v",
            "g",
            "d",
            "e",
            "e",
            "zh",
            "z",
            "i",
            "i",
            "k",
            "l",
            "m",
            "n",
            "o",
            "p",
            "r",
            "s",
            "t",
            "u",
            "f",
            "kh",
            "ts",
            "ch",
            "sh",
            "shch",
            "_",
            "y",
            "_",
            "e",
            "yu",
            "ya",
        ],
        strict=True,
    )
)
_CLASSES = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"t?s?ch|sh|zh|t[sz]", "s"), (r"ph", "f"), (r"ck|q", "k"), (r"x", "ks"), (r"c(?=[eiy])", "s"), (r"c+", "k"),
        (r"[sjz]+", "s"), (r"ng|n+", "n"), (r"m+", "m"), (r"[rl]+", "l"), (r"[bp]+", "p"), (r"[dt]+", "t"),
        (r"[gk]+", "k"), (r"[fvw]+", "f"), (r"[aeiouyh]+", ""),
    )
)  # fmt: skip
"""What sounds alike is one letter, vowels are none."""


@cache
def _table() -> tuple[list[bytes], list[str]]:
    rows = [(row[-1].encode("gb2312"), row[:-1].replace("v", "u")) for row in _ROWS.split()]
    return [code for code, _ in rows], [syllable for _, syllable in rows]


def pinyin(character: str) -> str:
    """zhong of 中; '' of what is no common Chinese character."""
    if character in _OTHER:
        return _OTHER[character]
    try:
        code = character.encode("gb2312")
    except UnicodeEncodeError:
        return ""
    if len(code) != 2 or not b"\xb0\xa1" <= code <= b"\xd7\xf9":
        return ""
    codes, syllables = _table()
    return syllables[bisect_right(codes, code) - 1]


def latin(text: str) -> str:
    """A word in plain Latin letters: without accents, and Russian ones put for theirs."""
    plain = "".join(_CYRILLIC.get(one, one) for one in text.casefold()).replace("_", "")
    plain = plain.replace("ß", "ss").replace("ø", "o").replace("æ", "ae").replace("ł", "l")
    return "".join(one for one in unicodedata.normalize("NFKD", plain) if one.isascii() and one.isalnum())


def skeletons(word: str) -> frozenset[str]:
    """The consonants of a Latin word, those that are alike made one (pln of berlin), in each way to say ch and th."""
    return frozenset(_skeleton(word.replace("ch", ch).replace("th", th)) for ch in ("ch", "k") for th in ("t", "s"))


def _skeleton(word: str) -> str:
    for pattern, put in _CLASSES:
        word = pattern.sub(put, word)
    return word


def spelt(run: str) -> list[str]:
    """The syllables of a Chinese run; '' for what has none."""
    return [pinyin(one) for one in run[:MOST]]


def is_spelt(name: str, syllables: list[str]) -> bool:
    """Whether a Latin name is so many syllables in a row: Xiaoyu of 小雨."""
    word = latin(name)
    for first, syllable in enumerate(syllables):
        if not syllable or not word.startswith(syllable):
            continue
        for last in range(first + 1, min(len(syllables), first + 4) + 1):
            made = "".join(syllables[first:last])
            if made == word:
                return True
            if not word.startswith(made):
                break
    return False


def sounds_like(name: str, run: str, *, surely: bool = False) -> bool:
    """Whether a name in Latin or Russian letters is said somewhere in a Chinese text, as foreign names are; ``surely``:
    in every sound, of three at the least."""
    wanted = {one for one in skeletons(latin(name)) if len(one) > 1 + surely}
    if not wanted:
        return False
    for part in re.findall(f"[{''.join(sorted(_FOREIGN))}]{{2,}}", run[:MOST]):
        for first in range(len(part)):
            for last in range(first + 2, min(len(part), first + LONGEST) + 1):
                said = _skeleton("".join(map(pinyin, part[first:last])))
                if said in wanted or (not surely and any(_near(one, said) for one in wanted)):
                    return True
    return False


def _near(wanted: str, said: str) -> bool:
    """Equal, but that Chinese leaves out an l, and the last sound where no syllable ends in it."""
    if wanted == said:
        return bool(said)
    if min(len(wanted), len(said)) < 2:
        return False
    plain, heard = wanted.replace("l", ""), said.replace("l", "")
    return (len(plain) > 1 and plain == heard) or wanted[:-1] == said or said[:-1] == wanted
