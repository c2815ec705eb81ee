"""Questions that have nothing to do with anything that was said; beside them some that have."""

from __future__ import annotations

from benchmarks.sets.banks import CHINESE, ENGLISH
from benchmarks.sets.dialogue import Dialogue, Shape
from benchmarks.sets.rows import Set, joined

SHAPE = Shape(each=4, changes=20, turns=260, questions=40)

IN_CHINESE = """
火星大气的主要成分是什么 写一首关于大海的十四行诗 解释一下量子纠缠 法国大革命爆发于哪一年
帮我算一下圆周率后二十位 恐龙为什么灭绝 推荐一种编译器优化的教材 怎么给吉他换弦 光合作用的化学方程式
世界上最深的海沟在哪里 拿破仑死于何处 鲸鱼怎样睡觉 把这句话翻译成拉丁文 牛顿第三定律怎么理解
什么是区块链共识机制 古罗马的引水渠如何建造 莎士比亚写过多少部悲剧 彩虹为什么是弯的 贝多芬失聪后怎样作曲
如何判断三角形全等 黑洞会蒸发吗 唐朝的科举分几级 蜜蜂如何传递信息 文艺复兴三杰是谁 冰岛有多少座火山
介绍一下印象派绘画 酵母发酵产生哪些气体 企鹅能飞多高 怎样折千纸鹤 梵高割掉的是哪只耳朵
"""
IN_ENGLISH = """
What is the boiling point of tungsten?
Explain the rules of cricket.
Who painted the ceiling of the Sistine Chapel?
How do submarines navigate under ice?
Write a haiku about autumn leaves.
What caused the fall of Constantinople?
Prove that the square root of two is irrational.
How many moons does Jupiter have?
What is the difference between a crocodile and an alligator?
Summarise the plot of Hamlet.
How is parchment produced?
Which enzyme digests starch?
What does a flux capacitor do?
Name the noble gases.
How does a suspension bridge carry its weight?
What is the capital of Burkina Faso?
Why do cats purr?
Translate good evening into Finnish.
Who discovered penicillium mould cultures?
How deep is the Mariana Trench?
What is a leap second?
How do I tie a bowline?
Which planets have rings?
Explain photosynthesis to a child.
When did the Berlin Wall come down?
What are tectonic plates?
Describe the water cycle.
Who wrote the Iliad?
What is the derivative of a logarithm?
How do volcanoes form islands?
"""


def unrelated() -> Set:
    """Each language is asked about in both."""
    histories = [
        Dialogue(CHINESE, "unrelated zh").history("unrelated-zh", SHAPE),
        Dialogue(ENGLISH, "unrelated en").history("unrelated-en", SHAPE),
    ]
    for history in histories:
        plain = [query for query in history.queries if query.kind == "same words"]
        history.queries.clear()
        for query in plain:
            history.ask(query.text, query.kind, query.gold)
        for text in [*IN_CHINESE.split(), *IN_ENGLISH.strip().splitlines()]:
            history.ask(text, "unrelated")
    return joined(histories)
