"""Names of places and peoples that do not sound alike in two languages, each with what else it is called.  Data."""

from __future__ import annotations

_PLACES = """
中国 中文 汉语 普通话 china chinese mandarin китай китайский|美国 美式 america american usa us americans сша|英国 英式
britain british uk england english англия|英语 英文 english английский|德国 德语 德文 germany german deutschland
германия немецкий|法国 法语 法文 france french франция французский|日本 日语 日文 japan japanese япония японский|韩国
韩语 korea korean корея|瑞士 switzerland swiss швейцария|俄罗斯 俄国 俄语 俄文 russia russian россия русский|意大利
意大利语 italy italian италия|西班牙 西班牙语 spain spanish испания|葡萄牙 葡萄牙语 portugal portuguese|荷兰 荷兰语
netherlands dutch holland нидерланды|奥地利 austria austrian österreich австрия|比利时 belgium belgian|希腊 希腊语
greece greek|土耳其 土耳其语 turkey turkish türkiye|埃及 egypt egyptian|印度 india indian hindi индия|泰国 泰语
thailand thai|越南 越南语 vietnam vietnamese|新加坡 singapore|马来西亚 malaysia malay|澳大利亚 澳洲 australia
australian|新西兰 zealand|加拿大 canada canadian|巴西 brazil brazilian|墨西哥 mexico mexican|瑞典 瑞典语 sweden
swedish швеция|挪威 挪威语 norway norwegian норвегия|丹麦 丹麦语 denmark danish|芬兰 芬兰语 finland finnish|冰岛
iceland icelandic|波兰 波兰语 poland polish польша|捷克 czech|匈牙利 hungary hungarian|乌克兰 乌克兰语 ukraine
ukrainian украина|爱尔兰 ireland irish|苏格兰 scotland scottish scots|威尔士 wales welsh|以色列 israel israeli
hebrew|欧洲 europe european европа|亚洲 asia asian|非洲 africa african|南美 拉美 latin|北京 beijing peking пекин|上海
shanghai шанхай|香港 hong kong hongkong|澳门 macau macao|台湾 taiwan taiwanese|台北 taipei|广州 guangzhou canton|重庆
chongqing|西安 xian|西藏 tibet tibetan|纽约 new york nyc|旧金山 三藩市 san francisco|洛杉矶 los angeles la|芝加哥
chicago|华盛顿 washington|西雅图 seattle|波士顿 boston|伦敦 london лондон|剑桥 cambridge|牛津 oxford|爱丁堡
edinburgh|巴黎 paris париж|柏林 berlin берлин|慕尼黑 munich münchen мюнхен|汉堡 hamburg гамбург|科隆 cologne
köln|法兰克福 frankfurt|维也纳 vienna wien вена|苏黎世 zurich zürich цюрих|日内瓦 geneva genève genf женева|伯尔尼
bern berne berner берн|巴塞尔 basel basle базель|洛桑 lausanne|卢塞恩 琉森 lucerne luzern|布鲁塞尔 brussels
bruxelles|阿姆斯特丹 amsterdam|哥本哈根 copenhagen københavn|斯德哥尔摩 stockholm|奥斯陆 oslo|赫尔辛基 helsinki|布拉格
prague praha прага|华沙 warsaw warszawa варшава|布达佩斯 budapest|罗马 rome roma рим|米兰 milan milano|威尼斯 venice
venezia|佛罗伦萨 florence firenze|那不勒斯 naples napoli|马德里 madrid|巴塞罗那 barcelona|里斯本 lisbon lisboa|雅典
athens|伊斯坦布尔 istanbul|莫斯科 moscow москва|圣彼得堡 petersburg петербург|基辅 kyiv kiev киев|东京 tokyo
токио|大阪 osaka|京都 kyoto|首尔 seoul|曼谷 bangkok|悉尼 sydney|墨尔本 melbourne|多伦多 toronto|温哥华 vancouver|迪拜
dubai|开罗 cairo|耶路撒冷 jerusalem|阿尔卑斯 alps alpine альпы|莱茵 rhine rhein|多瑙河 danube|阿勒河 aare|谷歌
google|苹果 apple|微软 microsoft|亚马逊 amazon|脸书 facebook|推特 twitter|微信 wechat|微博 weibo|支付宝 alipay|淘宝
taobao|阿里巴巴 alibaba|腾讯 tencent|百度 baidu|华为 huawei|小米 xiaomi|特斯拉 tesla|奔驰 mercedes|宝马 bmw|大众
volkswagen vw|圣诞 圣诞节 christmas xmas рождество|复活节 easter|春节 新年 spring festival new year|中秋 中秋节 mid
autumn|感恩节 thanksgiving|万圣节 halloween|端午 端午节 dragon boat|国庆 国庆节 national
"""

PLACES: tuple[frozenset[str], ...] = tuple(
    frozenset(" ".join(group.split("\n")).split()) for group in _PLACES.split("|")
)
"""Groups of words of which each may stand for another."""

CHINESE: frozenset[str] = frozenset(
    word for group in PLACES for word in group if len(word) > 1 and "\u4e00" <= word[0] <= "\u9fff"
) - {"大众", "苹果", "小米", "新年", "国庆", "中秋", "南美", "拉美", "英文", "中文", "美式", "英式"}  # fmt: skip
"""Those that name something wherever they stand in a Chinese text."""

OTHERS: dict[str, frozenset[str]] = {word: group for group in PLACES for word in group}
"""Word → the words that may stand for it."""
