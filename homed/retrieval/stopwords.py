"""Words that say nothing about what a text is about.  Data."""

from __future__ import annotations

_ENGLISH = """
a about above after again against ain all also am an and any are aren't as at be because been before being below
between both but by can can't cannot could couldn't d did didn't do does doesn't doing don don't down during each
either else ever few for from further get gets getting give given go going gonna got had hadn't has hasn't have
haven't having he he'd he'll he's hello her here hers herself hey hi him himself his how how's i i'd i'll i'm i've
if in into is isn't it it's its itself just let let's ll m may me might mine more most much must my myself neither
no nor not now o of off oh ok okay on once one only or other our ours ourselves out over own perhaps please re
really s same shall she she'd she'll she's should shouldn't so some still such t tell than thank thanks that that's
the their theirs them themselves then there there's these they they'd they'll they're they've this those through to
too under until up upon us ve very was wasn't we we'd we'll we're we've well were weren't what what's when when's
where where's which while who who's whom whose why why's will with won won't would wouldn't y yeah yes yet you
you'd you'll you're you've your yours yourself yourselves
"""
ENGLISH = frozenset(_ENGLISH.split())

_RUSSIAN = """
а без был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть еще же за
здесь и из или им их к как какая какие какой когда кто ли либо мне мной может мой моя моё мы на над надо наш не
него нее нет ни них но ну о об однако он она они оно от очень по под при про с со так также такой там те тем то
того тоже той только том тот ты у уже хотя чего чей чем что чтобы чье чья эта эти это этот я
"""
RUSSIAN = frozenset(_RUSSIAN.split())

CHINESE_CHARACTERS = frozenset(
    "的了是在我你您他她它们这那有和与及或也都就又很吗呢吧啊呀哦嗯么什怎哪谁啥之其而但被把给对从到个着过请不没会能要"
)
"""Never a term alone; a pair of two of them is none either."""

_CHINESE_PAIRS = """
什么 怎么 如何 为何 哪里 哪儿 哪个 哪些 谁的 多少 几个 为什 可以 可能 应该 一个 一下 一些 这个
那个 这些 那些 这里 那里 这样 那样 我们 你们 他们 她们 它们 自己 大家 因为 所以 但是 而且 如果
然后 还是 还有 或者 并且 已经 正在 现在 之前 之后 就是 不是 没有 时候 告诉 知道 觉得 请问 谢谢
你好 您好 怎样
"""
CHINESE_PAIRS = frozenset(_CHINESE_PAIRS.split())
