"""First-person statements in Chinese.  Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from homed.memory.distil.match import Hit, Rule, age, hits, nobody

_SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏窦章云苏潘葛奚范彭郎鲁韦昌马苗凤方"
    "俞任袁柳鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于傅皮卞齐康伍余元卜顾孟黄穆萧尹姚邵汪祁毛禹狄米贝明臧戴谈宋"
    "庞熊纪舒屈项祝董梁杜阮蓝闵席季贾路江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍万柯卢莫丁邓石崔吉龚程裴陆荣翁段侯"
    "宁仇甘厉祖武符刘景龙叶司黎白蒲邢温庄晏柴瞿阎连习艾易廖耿匡文寇广东欧沃利越隆师巩聂晁敖冷辛简饶曾沙关查荆游权"
    "盖益桓公付肖岳代"
)
_COMPOUND = (
    "欧阳",
    "司马",
    "上官",
    "诸葛",
    "司徒",
    "夏侯",
    "东方",
    "皇甫",
    "尉迟",
    "公孙",
    "慕容",
    "令狐",
    "端木",
    "南宫",
)
SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈蒋沈韩杨朱秦许何吕张孔曹严魏陶姜谢邹苏潘范彭鲁韦马袁柳唐薛雷贺倪罗郝傅齐康余顾孟黄穆萧尹"
    "姚邵汪祁宋庞熊纪董梁杜阮蓝贾江郭梅林徐邱骆夏蔡田樊胡霍卢莫丁邓崔龚裴陆侯刘叶黎邢廖曾"
)
"""Surnames that begin few other words: with "我是" before them only these are taken for a name."""

_JOBS = """
老师 教师 医生 护士 程序员 工程师 律师 会计 会计师 学生 大学生 研究生 博士生 中学生 高中生 初中生 小学生 设计师
司机 厨师 警察 记者 作家 画家 演员 歌手 教授 科学家 销售 销售员 经理 产品经理 项目经理 翻译 摄影师 农民 工人 快递员
外卖员 公务员 军人 消防员 飞行员 药剂师 牙医 兽医 建筑师 分析师 数据分析师 咨询师 编辑 导演 运动员 教练 研究员
架构师 店员 服务员 秘书 助理 自由职业者 创业者 导游 理发师 美容师 裁缝 木匠 电工 焊工 保安 法官 检察官 心理咨询师
理财师 精算师 空姐 乘务员 船员 博主 主播 作曲家 音乐家 钢琴家 舞蹈演员 插画师 动画师 漫画家 幼师 保姆 月嫂 营养师
健身教练 物理学家 化学家 数学家 历史学家 经济学家 生物学家 图书管理员 运维工程师 测试工程师
"""
JOBS = tuple(sorted(_JOBS.split(), key=lambda job: (-len(job), job)))

_VETO = re.compile(
    "如果|假如|假设|要是|假装|扮演|想象|比如|例如|譬如|假定|希望|想要|想当|想去|打算|计划|准备|将来|以后|可能|也许|或许|大概|万一|倘若|好像|似乎|仿佛"
    "|以前|曾经|从前|小时候|当年|那时|的时候|差点|要不是|除非|梦见|梦想|开玩笑|骗你|不是真的|假的|应该|恐怕|据说|听说|传说中"
    "|(?<![小传演解学述])说(?!话|明|法|服|实话|起来|真的)|告诉|问|写道|写着|回答|认为|觉得|以为|引用|这句话|这段话|歌词|诗里|台词|原文|造句|翻译成|怎么翻"
)
_MESSAGE = re.compile(
    "[问说道答写喊][：:]|翻译(?!$|[。，！、]|工作)|改写|润色|扮演|写一[篇个段首封]|编一个|讲一个|故事|小说里|作文|剧本|角色|例句|造句|歌词|台词|总结一下|概括|朗读|模板|测试数据|假装"
)
_QUESTION = re.compile(
    "吗|什么|谁|哪[里儿个些年]|怎么|怎样|为什么|为何|几岁|多大|多少|是不是|有没有|对不对|好不好|能不能|可不可以|猜|呢$|是否|还记得"
)
_C = r"[\u4e00-\u9fff]"
_START = (
    r"(?:^|[，,、：:（(\s])(?:(?:你好|您好|嗨|哈喽|大家好|对了|另外|其实|顺便说一下|现在|如今|目前|今年|嗯|哦|请?记住|更正一下|更正|补充一下|补充|那个|因为|所以|而且|但是"
    r"|不过|还有|是的|没错)"
    r"[，,！!：:\s]{0,2}){0,3}"
)
_STOP = r"(?=\s*(?:[，,、：:（）()\0]|$)|\s*(?:但是?|不过|因为|所以|而且|并且|，|也))"
_END = r"(?=\s*(?:[，,（）()\0]|$))"
_PARTICLE = r"(?:了|啦|哦|呀|哈|的)?"
_ADVERB = (
    r"(?:现在|目前|如今|一直|还|也|都|就|已经|真的|很|非常|特别|最|超级?|挺|更|比较|平时|从小|十分|其实|尤其|最近){0,3}"
)
_I = r"(?:我|本人)"
_NAME = rf"(?P<v>[A-Za-z][A-Za-z .'-]{{1,30}}|{_C}{{2,4}}?(?:·{_C}{{1,6}}){{0,2}})"
_DATE = (
    r"(?P<v>(?:(?:19|20)\d\d年)?(?:\d{1,2}|[一二三四五六七八九十]{1,3})月(?:\d{1,2}|[一二三四五六七八九十]{1,3})(?:日|号)|(?:19"
    r"|20)\d\d-\d{1,2}-\d{1,2})"
)
_NO_NAME_END = frozenset("来去帮给过吃买做写等了的吧呢吗啊时人们")
_NO_NAME = re.compile(
    "不|没|你|他|她|它|我|车|外卖|大家|醒|得|一个|这|那|什么|啥|别人|自己|客服|老板|朋友|同学|妈|爸|师傅|滴滴|救护|王八|笨|傻|蛋"
)
_NOT_SAID_NAME = frozenset("生员师者家手工匠友控党族迷粉民众单大学新老人妈爸哥姐弟妹男女客主孩子年业级辈")
_PLACE_BAD = re.compile(
    "^(?:这|那|一|哪|某|几|自己|同|和|跟)|我|你|他|她|它|的|宿舍|酒店|宾馆|旅馆|学校|家里|家$|乡下|城里|郊区|里$|上$|边$|附近|公司|医院|楼|房|屋|国外|外地|老家|隔壁|对面|网上|山上"
    "|过去|当下|一起|农村|朋友|父母|未来|梦|又|^不|^了|着火|装修|施工|漏水|停电|打扫|还是|或者"
)
_THING_BAD = re.compile(
    "^(?:你|您|他|她|它|我|这|那|的|过|上了|到|了|不|什么|怎么|如何|哪|谁|自己|被|把|在这|一个人$|一直|人家|听你|跟你|和你|看到你|问)|的时候|还是|或者|^(.)不\\1|[吗呢吧么]$|^.{0,6}的$"
)
_ORGANISATION = re.compile(
    "(?:公司|大学|学院|医院|中学|小学|幼儿园|银行|集团|研究所|研究院|事务所|工厂|局|厅|出版社|电视台|报社|科技"
    "|餐厅|书店)$|^[A-Za-z]"
)


def _latin(value: str) -> bool:
    return value[:1].isascii() and value[:1].isalpha()


def _name(value: str) -> str:
    """A name by its surname, by 小/老/阿 before a character, or in Latin letters."""
    plain = value.strip()
    if nobody(plain):
        return ""
    if _latin(plain):
        return plain if plain[0].isupper() and plain.lower() not in ("uber", "taxi") else ""
    if _NO_NAME.search(plain) or ("·" not in plain and plain[-1] in _NO_NAME_END):
        return ""
    if "·" in plain or plain.startswith(_COMPOUND):
        return plain if len(plain) > 2 else ""
    if plain[0] in "小老阿大" and 2 <= len(plain) <= 3:
        return (
            plain
            if plain not in ("小时", "小心", "老师", "大声", "老板", "大哥", "大夫", "小姐", "大名", "小名")
            else ""
        )
    return plain if plain[0] in _SURNAMES and 2 <= len(plain) <= 3 else ""


def _said_name(value: str) -> str:
    """After "我是", which names jobs, origins and much else too."""
    plain = _name(value)
    if not plain or _latin(plain) or _job(plain) or plain[0] not in SURNAMES or len(plain) < 2:
        return ""
    return "" if set(plain[1:]) & _NOT_SAID_NAME or len(plain) != 3 else plain


def _job(value: str) -> str:
    plain = value.strip()
    job = next((job for job in JOBS if plain.endswith(job)), "")
    bad = re.search(
        "[的你他她不没好坏假个其给过当然是做去来找帮和跟让问把被比想叫爱]|前(?![端台])|未来", plain.removesuffix(job)
    )
    return plain if job and len(plain) <= 10 and not bad else ""


def _place(value: str) -> str:
    plain = value.strip()
    return "" if not plain or _PLACE_BAD.search(plain) else plain


def _organisation(value: str) -> str:
    plain = value.strip()
    bad = re.search("^(?:一[家个所间]|这|那|某)|我|你|他|她|的", plain)
    return plain if _ORGANISATION.search(plain) and len(plain) > 2 and not bad else ""


def _thing(value: str) -> str:
    plain = re.sub("(?:了|啦|哦|呀|啊|哈|噢|呦|的说)$", "", value.strip()).strip()
    bare = len(plain) == 1 and plain in "吃喝玩看听打读跑唱画养旅"
    return "" if not plain or bare or _THING_BAD.search(plain) or len(plain) > 25 else plain


def _pet(value: str) -> str:
    """What a pet is called, and not how it cries."""
    return "" if value[0] in "得个了着声不一人起唤来去完" or value[-1] in "了着的" else value


def _date(value: str) -> str:
    return value.strip()


def _rule(relation: str, pattern: str, fit: Callable[[str], str]) -> Rule:
    return Rule(relation, re.compile(_START + pattern), fit)


_PETS = "(?P<what>猫|狗|小猫|小狗|猫咪|狗狗|兔子|仓鼠|鹦鹉|乌龟|金鱼|鸟)"
_VALUE = r"[^，,、：:（）()\0\s]"

_RULES = (
    _rule(
        "name",
        rf"{_I}(?:现在|已经|全名|大名|本名|真名|的?名字)?(?:就)?(?:叫做?|名叫|是叫){_NAME}{_PARTICLE}{_END}",
        _name,
    ),
    _rule(
        "name",
        rf"{_I}的?(?:名字|姓名|全名|本名|真名|大名|中文名)(?:现在)?(?:是|叫做?|改成了?|改为){_NAME}{_PARTICLE}{_END}",
        _name,
    ),
    _rule(
        "name",
        rf"{_I}(?:已经|现在|刚|最近)?改(?:了)?(?:名|名字)(?:了)?[，,]?(?:现在)?(?:叫做?|为|成|是){_NAME}{_PARTICLE}{_END}",
        _name,
    ),
    _rule("name", rf"{_I}(?:已经|现在)?改叫{_NAME}{_PARTICLE}{_END}", _name),
    _rule(
        "name",
        rf"{_I}(?:现在|已经)?不(?:再)?叫{_VALUE}{{1,8}}?了?[，,](?:我)?(?:现在)?(?:而是)?(?:改)?(?:叫做?|是){_NAME}{_PARTICLE}{_END}",
        _name,
    ),
    _rule("name", rf"{_I}的?名字不是{_VALUE}{{1,8}}?[，,](?:而)?(?:是|叫){_NAME}{_PARTICLE}{_END}", _name),
    Rule("name", re.compile(rf"^(?:你好|您好|大家好|嗨|哈喽)[，,！!\s]*我是{_NAME}{_END}"), _said_name),
    _rule(
        "home",
        rf"{_I}{_ADVERB}(?:住在|居住在|定居在|生活在|家住|住(?![院校宿不进过得着满了下]))(?P<v>{_VALUE}{{2,16}}?){_PARTICLE}{_END}",
        _place,
    ),
    _rule("home", rf"{_I}(?:的)?家(?:就)?在(?P<v>{_VALUE}{{2,16}}?){_PARTICLE}{_END}", _place),
    _rule(
        "home",
        rf"{_I}{_ADVERB}(?:刚刚?)?(?:从{_VALUE}{{2,10}}?)?搬(?:家)?(?:到了?|去了?|来了?)(?P<v>{_VALUE}{{2,16}}?)(?:住"
        rf"|生活)?{_PARTICLE}{_END}",
        _place,
    ),
    _rule(
        "home",
        rf"{_I}(?P<since>(?:19|20)\d\d)年?(?:到|至|-|—)(?P<until>(?:19|20)\d\d)年?(?:一直)?(?:住在|居住在"
        rf"|生活在)(?P<v>{_VALUE}{{2,16}}?){_PARTICLE}{_END}",
        _place,
    ),
    _rule(
        "age",
        rf"{_I}(?:今年|现在|已经|都|刚刚?满?)?(?P<v>\d{{1,3}}|[一二三四五六七八九十百零两]{{1,5}})(?:周)?岁(?:了|啦|哦)?{_END}",
        age,
    ),
    _rule("age", rf"{_I}的?年龄是(?P<v>\d{{1,3}}|[一二三四五六七八九十百零两]{{1,5}})岁?{_END}", age),
    _rule("birthday", rf"{_I}的?生日是(?:在)?{_DATE}(?![之前后左以])", _date),
    _rule("birthday", rf"{_I}(?:是)?(?:在)?{_DATE}(?:出生|生)的?{_END}", _date),
    _rule(
        "job", rf"{_I}(?:现在)?(?:不是{_VALUE}{{2,8}}?[，,]而)?是(?:一?[名个位])?(?P<v>{_VALUE}{{2,10}}?){_END}", _job
    ),
    _rule("job", rf"{_I}的?(?:职业|工作|本职工作)(?:是|为)(?:一?[名个位])?(?P<v>{_VALUE}{{2,10}}?){_END}", _job),
    _rule(
        "job",
        rf"{_I}(?:现在)?(?:在{_VALUE}{{2,16}}?)?(?:当|做|担任)(?:一?[名个位])?(?P<v>{_VALUE}{{2,10}}?)(?:的)?{_END}",
        _job,
    ),
    _rule(
        "employer",
        rf"{_I}{_ADVERB}(?:在|就职于|任职于)(?P<v>{_VALUE}{{2,20}}?)(?:工作|上班|任职|就职){_PARTICLE}{_END}",
        _organisation,
    ),
    _rule("employer", rf"{_I}{_ADVERB}(?:就职于|任职于)(?P<v>{_VALUE}{{2,20}}?){_END}", _organisation),
    _rule(
        "dislikes",
        rf"{_I}{_ADVERB}(?:不太?(?:喜欢|爱(?=吃|喝|看|听|玩))|讨厌|厌恶|反感|受不了|痛恨)(?P<v>{_VALUE}{{1,25}}?){_STOP}",
        _thing,
    ),
    _rule(
        "likes",
        rf"{_I}{_ADVERB}(?:喜欢|喜爱|热爱|酷爱|偏爱|爱(?=吃|喝|看|听|玩|打|踢|读|跑|唱|画|养|旅))(?P<v>{_VALUE}{{1,25}}?){_STOP}",
        _thing,
    ),
    _rule("favourite_food", rf"{_I}最(?:喜欢|爱)的(?:食物|菜)是(?P<v>{_VALUE}{{1,20}}?){_STOP}", _thing),
    _rule("favourite_colour", rf"{_I}最喜欢的颜色是(?P<v>{_VALUE}{{1,10}}?){_STOP}", _thing),
    _rule(
        "pet",
        rf"{_I}(?:家里?)?(?:养了?|有)(?:一)?[只条个]{_PETS}[，,]?(?:它)?(?:的?名字)?(?:叫做?|名叫|是)(?P<v>{_C}{{2,4}}"
        rf"|[A-Z][a-z]{{1,15}}){_END}",
        _pet,
    ),
)


def silent(message: str) -> bool:
    """As ``english.silent``."""
    return _MESSAGE.search(message) is not None


_SIMPLE = str.maketrans(
    "現個歲這說嗎歡討厭愛養隻職業師醫護學員設計貓陳張劉黃吳趙葉許鄭馮蔣韓楊馬盧鄧蕭羅龍過還從來時後話問寫當臺嗨為電視歷史經濟數據練導編輯開發農單產項項總譯聽讀歌樂體會記級",
    "现个岁这说吗欢讨厌爱养只职业师医护学员设计猫陈张刘黄吴赵叶许郑冯蒋韩杨马卢邓萧罗龙过还从来时后话问写当台嗨为电视历史经济数据练导编辑开发农单产项项总译听读歌乐体会记级",
)
"""Traditional signs of the words that are looked for, each as its simplified one."""


def find(sentence: str, end: str) -> Iterator[Hit]:
    """As ``english.find``; "我是" gives a name or a job, never both."""
    sentence = sentence.translate(_SIMPLE)
    if "？" in end or "?" in end or _QUESTION.search(sentence) or _VETO.search(sentence):
        return
    yield from hits(_RULES, sentence)
