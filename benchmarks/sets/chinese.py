"""Chinese: four people's weeks of talk, mixed with English names of tools; and its words of two characters."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.sets.dialogue import Dialogue, Shape
from benchmarks.sets.rows import Query, Set, joined

BANK = Path(__file__).with_suffix(".toml")
SHAPE = Shape(each=5, changes=45, turns=480, questions=70)

_TWO = re.compile(r"[\u4e00-\u9fff]{2}")
_SPOKEN = """
会议 地铁 外卖 闹钟 监控 提纲 文档 红包 头像 电脑 更新 天气 嗓子 时间 周末 心情 版本 备份 快递 猫粮 身体 空调
机房 告警 老板 味道 医生 喝水 阳台 太阳 英文 书单 参数 流量 手机 房租 语言 早睡 下雨 挡板 装修 口号 扩容 蛋糕
请假 星座 首付 院子 晒图 闹腾 前端 会计 护士 翻译 销售 部署 托管 带宽 续费 账号 复盘 根因 宕机 报警 定时 全量
高峰 上线 交付 延期 死线 合同 排队 打折 手感 后劲 交换 虫子 送娃 绕路 师傅 零件 放榜 请客 集合 玄关 储物 户口
护照 钥匙
"""
"""Besides those of the bank's lists: words of its phrases.  Which of them a history has is looked up."""

FEW = 10
"""Events that may have a word that is asked for: so all of them can be among the first ten."""


def chinese() -> Set:
    """The conversations."""
    made = Dialogue(BANK, "chinese")
    return joined(made.history(f"zh-{number}", SHAPE) for number in (1, 2, 3, 4))


def words(of: Set) -> list[Query]:
    """Each word of two characters that some events of a history have, alone as a question."""
    found = []
    bank = BANK.read_text("utf-8")
    wanted = [*dict.fromkeys([*re.findall(r'"([\u4e00-\u9fff]{2})"', bank), *_SPOKEN.split()])]
    for history in dict.fromkeys(event.history for event in of.events):
        texts = [(event.id, event.text) for event in of.events if event.history == history]
        for word in wanted:
            gold = tuple(id_ for id_, text in texts if word in text)
            if 0 < len(gold) <= FEW and _TWO.fullmatch(word):
                found.append(Query(history, f"{history}/{word}", word, "word", gold))
    return found
