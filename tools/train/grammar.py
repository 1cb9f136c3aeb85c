# SPDX-License-Identifier: Apache-2.0
"""The words and the plots of the story corpus; pure data, read by corpus.py.

Notation inside a template
  {a|b|c}   one of the alternatives, uniformly; an empty alternative is allowed; they nest
  $slot     a word chosen once for the whole story (names, pronouns, things), so stories stay consistent
  ^         capital letter for what follows (needed only after ! or ? inside a beat, where corpus.py cannot know)

Slots filled for every story
  $H $kind $trait $he $him $his            the hero
  $F $fkind $ftrait $fhe $fhim $fhis       a friend
  $elder $ehe $ehim $ehis                  "mother", "grandpa", ...: use it as "$his $elder"
  $town $home $hobby $weather $time        scenery
A plot adds its own slots from `pick`: each entry draws one tuple for a tuple of slot names.
A plot is a list of beats; a beat is a list of alternative templates, one of which is told.
"""

BOYS = "Tom Ben Sam Max Tim Leo Jack Finn Oscar Noah Theo Hugo Luke Peter Adam Milo".split()
GIRLS = "Lily Mia Anna Sue Lucy Emma Rose Nora Ella Zoe Clara Ruby Maya Ivy Alice Daisy".split()
PETS = "Pip Bobo Momo Coco Rusty Fuzzy Dot Toby Pepper Hazel Benny Nibbles Poppy Bramble Sunny Willow".split()
ANIMALS = "rabbit fox bear mouse squirrel duck hedgehog frog kitten puppy turtle otter".split()
TRAITS = "kind brave curious clever happy shy gentle cheerful quiet playful careful funny".split()
ELDERS = [("mother", "she"), ("father", "he"), ("grandmother", "she"), ("grandfather", "he"), ("aunt", "she"), ("uncle", "he")]
TOWNS = ["a small village", "a quiet valley", "a green forest", "a little town by the sea", "a town near the mountains", "a village by the river"]
HOMES = ["a small house near the forest", "a little cottage by the river", "a red house on a hill", "a cozy home under a big oak tree",
         "a tiny house at the edge of the village", "a white house with a blue door", "a warm home near the lake"]
HOBBIES = ["play in the garden", "climb trees", "sing songs", "read books", "paint pictures", "look at the stars", "bake cookies",
           "collect shells", "jump in puddles", "build tall towers", "watch the clouds", "dance in the rain", "tell jokes", "listen to the birds"]
WEATHERS = "sunny warm bright windy cloudy cold fine quiet".split()
TIMES = "morning day afternoon".split()

OPENINGS = [
    "Once upon a time, there was a {little|young|small} $kind named $H. $H was very $trait{.| and loved to $hobby.|. $he loved to $hobby.}",
    "Once upon a time, there was a $trait $kind named $H. {$he|$H} lived in $home{.| with $his $elder.}",
    "Once upon a time, in $town, there lived a $trait {little |}$kind named $H. {Every day, $he liked to $hobby.|$H loved to $hobby.|Everyone liked $H.}",
    "Once upon a time, a {little|young} $kind named $H lived in $home. $H {was $trait and|was a $trait $kind who} loved to $hobby.",
    "Once upon a time, {there was|there lived} a {little|small} $kind. $his name was $H, and $he was very $trait.",
    "{Long ago|Many years ago}, in $town, there was a {little|young} $kind named $H. $H was {the most $trait $kind in the whole place|a very $trait $kind}.",
    "{There once was|There was once} a $trait $kind named $H who lived in $home. $H loved to $hobby.",
    "$H was a {little|young} $kind who lived in $home. {More than anything, $he loved|Every day, $he liked} to $hobby.",
    "In $town, there was a $kind named $H. $H was {small but|young and} very $trait.",
]

MEET = [
    "$H had a {good|best} friend, a $ftrait $fkind named $F.",
    "$his best friend was $F, a $ftrait {little |}$fkind.",
    "$H and $his friend $F, a $ftrait $fkind, {did everything together|played together every day|were always together}.",
    "Next door lived $F, a $ftrait $fkind. $H and $F were {good|best} friends.",
]

ENDINGS = [
    "From that day on, $H and $F {were the best of friends|always helped each other|played together every day}.",
    "{That night|In the evening}, $H {went to bed with a big smile|fell asleep with a smile|told $his $elder all about it}.",
    "And they {all |}lived happily ever after.",
    "{It was the best day ever|What a wonderful day it was}. {The end.|}",
    "$H {hugged|thanked} $F and {smiled|laughed}. \"You are the best friend in the world,\" $he said.",
    "$H and $F {laughed and walked home together|went home, tired but happy|danced and sang until the sun went down}. {The end.|}",
    "$his $elder {hugged $him and |}said, \"I am so proud of you, $H.\" {$H felt warm and happy.|$H smiled all evening.|}",
]

SAY_THANKS = "\"{Thank you|Thank you so much|Oh, thank you}, $F!\" {said $H|$H said|$H cried happily}."

PLOTS = {}

PLOTS["lost_thing"] = dict(
    pick={("thing", "adj", "seen"): [
        ("ball", "red", "under the bed"), ("kite", "blue", "in the tall grass"), ("hat", "yellow", "on a branch of the old tree"),
        ("boat", "wooden", "behind the big stones by the pond"), ("book", "old", "under a pile of leaves"), ("key", "golden", "inside an old boot"),
        ("drum", "green", "behind the door"), ("scarf", "warm", "on the garden gate"), ("bell", "silver", "in a nest of straw"),
        ("doll", "pretty", "in the wheelbarrow"), ("spoon", "shiny", "under the kitchen table"), ("button", "round", "between two stones")],
        ("where1", "where2"): [("in the garden", "in the kitchen"), ("near the pond", "under the bench"), ("in the yard", "behind the barn"),
        ("in the house", "in the field"), ("on the hill", "by the gate"), ("in the basket", "on the shelf")]},
    beats=[
        ["$H had a $adj $thing. {It was $his favorite thing in the world.|$he took it everywhere.|It was a gift from $his $elder.}",
         "$H's favorite thing was a $adj $thing. {$he took it everywhere.|It was a gift from $his $elder.}"],
        ["One $weather $time, $H {could not find it|looked for the $thing, but it was gone}. \"Oh no! Where is my $thing?\" $he {cried|said|asked}.",
         "But one $weather $time, the $thing was gone! \"Where is my $thing?\" $H {cried|asked}. {$he felt very sad.|^$he began to cry.}"],
        ["$H looked $where1. It was not there. $he looked $where2. It was not there{, too| either}.",
         "First, $he looked $where1. Then, $he looked $where2. But the $thing was {nowhere to be found|not there}.",
         "$H looked $where1 and $where2, but $he could not find the $thing."],
        ["{Just then|Soon}, $F came by. \"{Why are you sad|What is wrong}, $H?\" $fhe asked. \"I lost my $adj $thing,\" said $H. \"{Do not worry|Do not cry},\" said $F. \"{I will help you|We can look together|Let us look together}.\"",
         "$H went to $F. \"I lost my $thing,\" $he said. \"Can you help me?\" \"Of course,\" said $F. \"{Let us look together|Two can look better than one}.\""],
        ["They looked {high and low|everywhere}. {After a while|At last}, $F {saw something $adj|pointed} and {shouted|called}, \"Look, $H! There it is!\" The $thing was $seen.",
         "{Together|So} they looked and looked. Then $H saw something $seen. It was the $thing! \"{We found it|Here it is}!\" {$he shouted|cried $H}.",
         "$F {thought for a moment|had an idea}. \"When did you last play with it?\" $fhe asked. $H {thought hard|remembered}. {They ran back|They went back}, and there was the $thing, $seen!"],
        [SAY_THANKS + " {$he held the $thing {tight|close}.|}", "$H was so happy that $he jumped {up and down|for joy}. " + SAY_THANKS],
        ["", "", "After that, $H always put the $thing back in its place.", "Then they played with the $thing {until dark|all day long}."],
    ])

PLOTS["lost_creature"] = dict(
    pick={("baby", "sound", "homeplace"): [
        ("bird", "peeping", "in a nest in the tall tree"), ("lamb", "crying", "in the field behind the hill"), ("duckling", "peeping", "by the pond"),
        ("bee", "buzzing", "in the hive near the flowers"), ("mouse", "squeaking", "in a hole under the fence"), ("owl", "hooting", "in the old barn"),
        ("fish", "splashing", "in the deep part of the river"), ("goat", "crying", "on the farm across the bridge")],
        ("path",): [("forest",), ("meadow",), ("garden",), ("old road",), ("river",)]},
    beats=[
        ["One $weather $time, $H went for a walk {near|by} the $path. {Suddenly|Then}, $he heard {something|a small sound}. It was a baby $baby, $sound {softly|sadly|all alone}.",
         "One $weather $time, $H was {walking|playing} by the $path when $he saw a baby $baby. The $baby was $sound {softly|sadly}."],
        ["\"{Hello, little $baby|Hello, little one}. Why are you {sad|crying}?\" asked $H. \"I am lost,\" said the $baby. \"I {want to go home|want my mother|cannot find my mother}.\"",
         "\"{What is wrong|Are you lost}?\" $H asked {in a soft voice|gently}. The $baby nodded. \"I cannot find my way home,\" it said."],
        ["$H felt sorry for the $baby. \"{Do not be afraid|Do not cry},\" $he said. \"I will help you.\" But $H did not know the way.",
         "\"I will take you home,\" said $H. But the world was big, and $he did not know where to go."],
        ["So $he asked $his friend $F. $F {was a $ftrait $fkind and knew|knew} every path. \"I know where that $baby lives,\" said $F. \"{Follow me|Come with me}!\"",
         "Then $F came along. \"I saw a mother $baby today,\" $fhe said. \"She was {looking for|calling} her little one. {Follow me|Come}!\""],
        ["They walked {over the hill and across the bridge|through the tall grass|past the mill and the old well}. {It was a long way|The little $baby was tired}, so $H carried it {gently|in $his arms|the whole way}.",
         "{Together|So} they walked and walked. When the $baby was tired, $H {carried it|sang it a song}."],
        ["At last they came to a place $homeplace. The mother $baby was {there|waiting}. \"My baby!\" she cried. {She was so happy.|^She kissed her little one.}",
         "And there, $homeplace, was the mother. \"You are {back|home}!\" she cried. The baby $baby {jumped for joy|was safe at last}."],
        ["\"Thank you, {$H and $F|kind friends},\" said the mother. \"{You are always welcome here|I will never forget you}.\"",
         "The mother thanked $H and $F. {She gave them {sweet berries|a bright feather|some honey|a pretty stone}.|}"],
        ["", "$H learned that it feels good to help.", "$H {waved|smiled} and said, \"Goodbye, little $baby!\""],
    ])

PLOTS["fear"] = dict(
    pick={("fear", "bad", "act", "prize"): [
        ("the dark", "I cannot see anything", "walked into the dark room", "the stars through the window"),
        ("deep water", "What if I sink", "stepped into the water", "the little fish"),
        ("the high slide", "It is too high", "climbed to the top", "the whole park"),
        ("thunder", "It is so loud", "sat by the window in the storm", "a bright rainbow"),
        ("the old bridge", "What if I fall", "walked across the bridge", "the flowers on the other side"),
        ("the big dog next door", "It has big teeth", "held out a hand to the dog", "the dog wag its tail"),
        ("the tall tree", "It is too tall", "climbed to the first branch", "a nest with three blue eggs"),
        ("the forest", "It is full of strange sounds", "walked between the trees", "a deer with her baby")]},
    beats=[
        ["But $H had a secret. $he was afraid of $fear.", "There was only one problem. $H was {very |}afraid of $fear.", "$H was not afraid of {many|most} things, but $he was afraid of $fear."],
        ["One $weather $time, $F {came to play|came by}. \"{Come with me|Come on|Let us go}, $H!\" said $F. {But |}$H {shook $his head|stood still}. \"I am afraid of $fear,\" $he {whispered|said}. \"$bad.\"",
         "\"{Why do you not come and play|Why are you hiding}?\" asked $F one $weather $time. $H {looked down|blushed}. \"I am afraid of $fear,\" $he said. \"$bad.\""],
        ["$F did not laugh. \"{Everyone is afraid of something|I was afraid once, too},\" $fhe said. \"{Hold my hand|Stay close to me}. We {can|will} do it together.\"",
         "$H's $elder heard this and {smiled|sat down next to $him}. \"Being brave does not mean you are never afraid,\" $ehe said. \"It means you try.\""],
        ["$H took a deep breath. $his {legs were shaking|heart was beating fast}. {One step, then another step|Slowly, very slowly}, $he $act.",
         "So $H {closed $his eyes and counted to three|took a deep breath}. \"One, two, three!\" Then $he $act."],
        ["{And do you know what?|Then something wonderful happened.} $H saw $prize. {It was beautiful!|^It was not scary at all.} \"{Look|Oh, look}!\" $he {cried|said}.",
         "Nothing bad happened. {Instead, |}$H saw $prize. \"{I did it|I am not afraid}!\" $he {shouted|cried}."],
        ["\"{I knew you could do it|You are very brave},\" said $F.", "$F {clapped|cheered}. \"Well done, $H! You did it!\"", "$H was so proud. \"Again, again!\" $he {said|laughed}."],
        ["", "After that, $H was never {so |}afraid of $fear again.", "$H learned that {it is easier to be brave with a friend|a brave heart grows with every step}."],
    ])

PLOTS["share"] = dict(
    pick={("food", "taste"): [("cake", "sweet"), ("pie", "warm"), ("bread", "fresh"), ("soup", "hot"), ("pears", "juicy"), ("berries", "ripe"),
                              ("cookies", "crunchy"), ("honey", "golden"), ("apples", "red"), ("pancakes", "soft")]},
    beats=[
        ["One $weather $time, $his $elder gave $him {a basket of|some} $taste $food. \"{This is for you|Enjoy it},\" said $his $elder.",
         "One $weather $time, $H {had|found} some $taste $food {on the table|in the kitchen}. {Everything|The kitchen} smelled so good!"],
        ["$H {sat under a tree|sat down in the grass} to eat. Then $F came by. \"{That smells good|I am so hungry},\" said $F. \"May I have {some|a little}?\"",
         "$F {saw the $food|came to visit}. \"I have not eaten all day,\" said $F. \"Can I have {some|a little}, please?\""],
        ["\"No,\" said $H. \"It is all mine!\" $F {was sad and went away|looked at the ground and walked away}.",
         "$H held the $food {tight|close}. \"{No|I do not want to share},\" $he said. \"{It is mine|I want it all}.\" $F's eyes filled with tears."],
        ["$H ate and ate. But {the $food did not taste so good|eating alone was no fun}. $he {thought of|looked at} $F{ and felt bad|, who was sitting all alone|}.",
         "{But then |Soon }$H had a tummy ache, and $he felt {bad|lonely}. {\"Why did I not share?\" $he thought.|\"That was not kind,\" $he thought.}"],
        ["So $H ran {after|to} $F. \"{I am sorry|I am so sorry}, $F,\" $he said. \"{Please|Come and} eat with me. There is enough for {both of us|two}.\"",
         "$H {got up|stood up} and {looked for|found} $F. \"I was {not nice|not kind},\" $he said. \"I am sorry. Here, have half of my $food.\""],
        ["$F smiled{.| a big smile.} \"{Thank you|That is all right},\" $fhe said. They sat down together and ate the $food. {Now it tasted {much |}better!|It was the best $food ever.}",
         "{The two friends|They} ate together {in the sun|under the tree}. \"{It tastes better with a friend|This is so good},\" said $F, and $H {nodded|agreed}."],
        ["", "$H learned that sharing makes {everything better|a friend happy}.", "{The next day|Later}, $F brought {nuts|flowers|plums|a little gift} for $H, too."],
    ])

PLOTS["storm"] = dict(
    pick={("plan", "indoor"): [
        ("have a picnic", "ate their sandwiches on a blanket under the table"), ("fly a kite", "made little paper birds and let them fly in the kitchen"),
        ("swim in the lake", "made boats out of paper and sailed them in a big bowl"), ("go to the fair", "put on a funny show with socks on their hands"),
        ("play ball", "built a castle out of pillows"), ("camp under the stars", "made a tent with a blanket and a lamp"),
        ("pick berries", "baked a berry pie"), ("build a sand castle", "built a castle out of boxes")]},
    beats=[
        ["$H and $F {wanted to|had a plan. They wanted to} $plan. {They had waited all week.|$H could not wait!|}",
         "One $time, $F said, \"Let us $plan {today|tomorrow}!\" \"{Yes|Oh yes}!\" said $H. {They were so excited.|}"],
        ["But {then|when they {opened the door|stepped outside}}, the sky {turned gray|grew dark}. {Drip, drop!|^Boom!} It began to rain. {The wind blew hard.|}",
         "But soon dark clouds came. {The wind blew and blew|There was thunder}, and then it rained {and rained|very hard}."],
        ["\"Oh no,\" said $H. \"Now we cannot $plan.\" {$he was close to tears.|$he looked sadly out of the window.|}",
         "$F looked sad. \"{Our day is ruined|It is not fair},\" $fhe said. \"We cannot $plan in the rain.\""],
        ["They sat {by the window and watched|on the floor and listened to} the rain. {Then|Suddenly} $H had an idea. \"{Wait|I know}! We can have fun inside!\" $he said.",
         "\"{Do not be sad|Cheer up},\" said $H's $elder. \"A rainy day can be fun, too. {You only need|All you need is} a good idea.\" $H {thought and thought|looked around the room}. \"I know what we can do!\" $he {said|cried}."],
        ["So they $indoor. {They laughed so much that they forgot the rain.|It was so much fun!|$his $elder brought them warm milk.}",
         "{Together|All afternoon}, $H and $F $indoor. {They did not even hear the rain.|They laughed and sang.}"],
        ["After a while, {the rain stopped|the sun came out again}. {There was a rainbow in the sky!|\"Look, a rainbow!\" said $F.}",
         "When {the storm|the rain} was over, {they did not even notice|the world smelled fresh and clean}.",
         "\"I {love|like} rainy days,\" said $F, and $H laughed."],
    ])

PLOTS["gift"] = dict(
    pick={("gift", "need", "trouble"): [
        ("a necklace of shells", "shells", "the string broke and the shells rolled away"), ("a big card", "paper and paint", "the paint fell over"),
        ("a chocolate cake", "eggs and flour", "the cake was burned"), ("a wooden boat", "wood and glue", "the boat broke in two"),
        ("a crown of flowers", "flowers", "the wind blew the flowers away"), ("a warm scarf", "wool", "the cat ran off with the wool"),
        ("a little bird house", "boards and nails", "the roof fell off"), ("a picture", "colors", "the water spilled on the picture")]},
    beats=[
        ["{It was almost $F's birthday|Tomorrow was $F's birthday}. $H wanted to give $fhim {something special|the best gift}. \"I will make $gift,\" $he {said|thought}.",
         "$F was going to have a birthday. \"{What can I give $fhim|What would $fhe like}?\" $H {wondered|asked}. $his $elder said, \"{Make something with your own hands|The best gifts are made with love}.\" So $H wanted to make $gift."],
        ["{First|In the morning}, $H {got|went to get} $need. Then $he {began to work|worked and worked}. {It was not easy.|$he sang while $he worked.|}",
         "$H {found|got} $need and {sat down|went} to work. {$he worked very hard.|$he worked all $time.}"],
        ["But then $trouble! \"Oh no!\" {cried $H|said $H|$H cried}. {\"It is ruined!\"|\"Now I have no gift!\"|^$he wanted to give up.}",
         "It was almost done when $trouble. $H {sat down and cried|felt like crying}. \"{All my work is gone|Now it is ruined},\" $he said."],
        ["$his $elder {came in|heard $him} and {gave $him a hug|sat down}. \"{Do not give up|Everyone makes mistakes},\" $ehe said. \"{Try again|Let us try again}. I will help you.\"",
         "$H {took a deep breath|dried $his tears}. \"I will {try again|not give up},\" $he said. {And so $he did.|$he started all over again.}"],
        ["{This time|Now}, it {worked|went well}. $H had made $gift, {and it was beautiful|and $he was very proud}.",
         "{Step by step|Slowly and carefully}, $H tried again. And in the end, $he had made $gift."],
        ["On the {big day|birthday}, $H gave it to $F. \"{Happy birthday|This is for you}!\" $he said. $F's eyes {grew big|shone}. \"{You made this for me|Did you make this}? It is the best gift {ever|of all}!\"",
         "When $F {opened|saw} the gift, $fhe {smiled from ear to ear|jumped for joy}. \"I love it! Thank you, $H!\" {said $F|$fhe said}."],
        ["", "", "$H learned that {you should never give up|a gift from the heart is the best gift}."],
    ])

PLOTS["seed"] = dict(
    pick={("plant", "result"): [
        ("sunflower", "It was tall and yellow like the sun"), ("pumpkin", "It was big and round and orange"), ("apple tree", "It was covered with white flowers"),
        ("rose", "It was red and smelled so sweet"), ("carrot", "It was the biggest carrot in the garden"), ("bean", "It climbed up to the roof"),
        ("strawberry plant", "It was full of sweet red berries"), ("tulip", "It was pink and bright")]},
    beats=[
        ["One $weather $time, $his $elder gave $H a {tiny|little|small} seed. \"{What is it|What will it be}?\" asked $H. \"It will be a $plant,\" said $his $elder. \"But you must {take care of it|wait}.\"",
         "One $weather $time, $H found a {tiny|little} seed. \"That is the seed of a $plant,\" said $F. \"{Put it in the ground|You should plant it}!\""],
        ["$H {dug a little hole|made a hole in the ground} and put the seed in. $he {gave it water|watered it} every day.",
         "So $H planted the seed in the garden. {Every morning|Each day}, $he {gave it water|watered it} and {sang to it|said, \"Good morning, little seed\"}."],
        ["{But nothing happened|One day went by, and then another}. $H {looked|waited} and {waited|looked}. \"{Why does it not grow|When will it grow}?\" $he asked.",
         "But the seed did not grow. \"{Maybe it is asleep|Maybe it does not like me},\" said $H {sadly|with a sigh}."],
        ["\"{You must be patient|Good things take time},\" said {$his $elder|$F}. \"{The seed is working under the ground|It needs sun and rain and time}.\"",
         "$H wanted to dig it up, but $F said, \"{No, wait|Stop}! {Give it a little more time|It needs its sleep}.\" So $H waited."],
        ["Then one morning, $H saw {something green|a tiny green leaf}. \"{Look|Come and look}, $F! It is growing!\" $he {shouted|called}.",
         "{After many days|One morning}, a {tiny|little} green leaf came out of the ground. $H {danced around it|jumped for joy|could not believe it}."],
        ["{Day by day|Week by week}, it grew {bigger and bigger|taller and taller}. {In the end|At last}, there was {a real|a beautiful} $plant in the garden. $result.",
         "It grew and grew. Soon it was a {fine|beautiful} $plant. $result. {Everyone came to see it.|}"],
        ["\"{I waited, and it was worth it|You were right},\" said $H.", "$H learned that good things take time.", "\"Next year, I will plant {two|ten|more},\" said $H."],
    ])

PLOTS["broken"] = dict(
    pick={("vase", "how"): [
        ("vase", "playing ball in the house"), ("window", "throwing stones"), ("blue cup", "running around the table"), ("lamp", "jumping on the bed"),
        ("clock", "climbing on the shelf"), ("plate", "dancing in the kitchen"), ("flower pot", "racing around the yard"), ("mirror", "swinging a stick")]},
    beats=[
        ["$his $elder always said, \"{Be careful|Please be careful}, $H.\" But one $weather $time, $H was $how.", "One $weather $time, $H was $how. {$he did not listen to $his $elder.|$his $elder had told $him not to do that.}"],
        ["Crash! The $vase {fell down and broke|was broken}. {There were pieces everywhere.|$H stood very still.}", "{Suddenly|Then} there was a loud crash. $H had broken the $vase! {$his heart beat fast.|}"],
        ["\"Oh no,\" {thought|whispered} $H. \"{They will be angry with me|What shall I do}?\" $he {hid the pieces under the bed|hid behind the door|ran away and hid}.",
         "$H was {scared|afraid}. $he {hid the pieces|went outside} and {did not tell anyone|said nothing}."],
        ["{Soon|Later}, $his $elder {came home|came in}. \"{What happened to the $vase|Who broke the $vase}?\" $ehe asked. \"{It was not me|I do not know},\" said $H. But $he felt {bad inside|terrible}.",
         "$F saw that $H was {sad|quiet}. \"What is wrong?\" asked $F. $H told $fhim everything. \"You {should|must} tell the truth,\" said $F. \"{It is hard, but it is right|You will feel better}.\""],
        ["At last, $H {could not keep the secret|took a deep breath}. $he went to $his $elder and said, \"I broke the $vase. I am {so |very |}sorry.\"",
         "So $H went to $his $elder with {tears in $his eyes|the pieces in $his hands}. \"It was me,\" $he said. \"I broke the $vase. I am {so |very |}sorry.\""],
        ["$his $elder {was quiet for a moment|looked at $him}. Then $ehe {smiled|gave $him a hug}. \"Thank you for telling the truth,\" $ehe said. \"{That was brave|A $vase can be fixed, but the truth is worth more}.\"",
         "\"I am {a little sad about the $vase|not angry},\" said $his $elder. \"But I am {happy|glad} that you told me the truth.\" And $ehe {hugged|kissed} $him."],
        ["{Together|Then} they {cleaned up|picked up the pieces} and {fixed the $vase with glue|made everything clean again}.", "$H felt {so |much |}better. $he promised to be more careful.", "$H learned that it is always better to tell the truth."],
    ])

PLOTS["high"] = dict(
    pick={("prize", "where"): [
        ("kite", "at the top of a tall tree"), ("apple", "on the highest branch"), ("balloon", "on the roof"), ("hat", "on top of a pole"),
        ("ball", "on the roof of the barn"), ("cookie jar", "on the top shelf"), ("pear", "high up in the old pear tree"), ("paper plane", "on the garden wall")],
        ("help",): [("a long stick",), ("a ladder",), ("a rope",), ("a tall box",)]},
    beats=[
        ["One $weather $time, $H saw a $prize. It was $where. \"{I want that $prize|I must have it},\" said $H.", "One $weather $time, there was a $prize $where. $H wanted it {very much|more than anything}."],
        ["$H {jumped|jumped and jumped}, but $he was too {small|short}. {$he threw a stone, but it missed.|$he stood on a bucket, but it was not enough.|}", "$he tried to {reach|get} it. $he {jumped as high as $he could|stood on the tips of $his toes}. But it was {too high|no use}."],
        ["\"{I will never get it|I cannot do it},\" said $H and {sat down in the grass|kicked a stone}.", "$H was {tired and sad|angry}. \"{It is too high|It is not fair},\" $he said."],
        ["Then $F came by. \"{What are you doing|What is the matter}?\" asked $F. \"I want the $prize, but I cannot reach it,\" said $H. $F {looked up|thought for a moment}. \"{I have an idea|We need $help},\" $fhe said.",
         "$F was watching {from the fence|from a window}. \"{Do you need help|Can I help you}?\" $fhe called. \"Yes, please,\" said $H. \"I cannot reach the $prize.\""],
        ["{Together|So} they {found|got|brought} $help. $F held it {tight|still}, and $H {climbed up|reached up}. {Higher and higher|A little more, a little more}... and then $he had it!",
         "$F brought $help. It was heavy, but {together they could move it|the two of them were strong}. $H reached out and got the $prize. \"{I have it|We did it}!\" $he {shouted|cried}."],
        [SAY_THANKS + " \"{I could not do it without you|Alone it was too hard, but together it was easy}.\"", "\"{We are a good team|Two are better than one},\" said $F, and {both of them laughed|$H agreed}."],
        ["", "", "They {played with} the $prize{| all day}.", "$H learned that it is good to ask for help."],
    ])

PLOTS["learn"] = dict(
    pick={("skill", "fail", "win"): [
        ("swim", "swallowed a lot of water", "swam all the way across the pond"), ("ride a bike", "fell into the bushes", "rode down the street like the wind"),
        ("whistle", "only made a funny noise", "whistled a whole song"), ("dance", "stepped on everyone's feet", "danced around the room"),
        ("skate", "slipped on the ice", "made a big circle on the ice"), ("bake bread", "burned the bread", "baked a golden loaf of bread"),
        ("play the flute", "scared all the cats away", "played a sweet song"), ("catch a ball", "dropped the ball", "caught the ball with one hand"),
        ("read", "mixed up all the letters", "read a whole page"), ("tie a knot", "tied up both feet", "tied a perfect knot")]},
    beats=[
        ["$H wanted to learn {how |}to $skill. {$F could do it very well.|Everyone else could do it.|}", "More than anything, $H wanted to $skill. But $he did not know how."],
        ["One $weather $time, $he tried for the first time. {But |}$he $fail. {Everyone laughed.|It was not easy.|\"Ouch!\" said $H.}", "So one $weather $time, $he tried. Oh dear! $H $fail. {\"This is too hard!\" $he said.|}"],
        ["$H {was sad|hung $his head}. \"I will never learn to $skill,\" $he said.", "\"{I give up|I cannot do it},\" said $H {and sat down|with a sigh|with tears in $his eyes}."],
        ["But $F {said|smiled and said}, \"{I could not do it at first|It took me a long time}, too. {You must try every day|Try a little every day}. I will {show|teach} you.\"",
         "$his $elder {sat down next to $him|put an arm around $him}. \"{Nobody can do everything at once|You only fail when you stop trying},\" $ehe said. \"Try {again|one more time}.\""],
        ["So $H tried {again and again|every day}. {On Monday|The first time}, it went badly. {On Tuesday|The second time}, it went a little better.", "$H {got up|nodded} and tried again. And again. And again. {Each time it was a little better.|Day after day, $he got better.}"],
        ["{And then, one day|At last}, $H $win! {$he could not believe it.|Everyone clapped.|} \"I can do it!\" $he {shouted|cried}.",
         "Then, one $weather morning, it {worked|happened}. $H $win. \"{Look at me|I can do it}!\" {cried $H|$he cried}."],
        ["\"{I knew it|I am so proud of you},\" said $F.", "$H learned that {if you keep trying, you can do it|practice makes all the difference}.", "{Now|Today}, $H teaches {the little ones|other children} to $skill, too."],
    ])

PLOTS["night"] = dict(
    pick={("noise", "truth", "need2"): [
        ("Tap, tap, tap", "a branch that was tapping on the window", "It only wanted to dance in the wind"),
        ("Hoo, hoo", "a little owl on the roof", "It was singing to the moon"),
        ("Scratch, scratch", "a cat who wanted to come in", "It was cold and hungry"),
        ("Plop, plop, plop", "water that was dripping into a bucket", "The roof had a small hole"),
        ("Crunch, crunch", "a hedgehog eating an apple", "It was very hungry"),
        ("Squeak, squeak", "a mouse with her four babies", "They were looking for a warm bed"),
        ("Ding, ding", "a bell on the neck of a lost sheep", "It was looking for its friends"),
        ("Bump, bump", "a shutter that was moving in the wind", "Somebody had forgotten to close it")]},
    beats=[
        ["One night, $H could not sleep. {The moon was bright.|It was very late.|The house was quiet.} Then $he heard a {strange|funny} sound. \"$noise!\"", "One {cold|dark|windy} night, $H was lying in bed. \"$noise!\" {What was that?|^Something was {outside|there}!}"],
        ["$H {pulled the blanket over $his head|sat up in bed}. \"{Is it a ghost|Is it a monster}?\" $he {whispered|thought}. \"$noise!\" There it was again.", "$H {was scared|held $his breath}. \"{Maybe it is a monster|Maybe it is a dragon},\" $he thought."],
        ["{$F was sleeping over that night.|$F was staying with $H that night.} \"{Wake up|Wake up, $F},\" said $H. \"I hear something.\" $F {rubbed $fhis eyes|sat up}. \"{Let us go and see|We should look},\" $fhe said.",
         "$H ran to $F's {bed|room}. \"There is something outside,\" $he said. \"Then we will {look together|go and see},\" said $F. {$fhe was a little scared, too.|}"],
        ["They took a {lamp|candle} and {went down the stairs|walked to the door} {very quietly|on tiptoe}. \"$noise!\" {It was close now.|^It was louder now.}", "{Hand in hand|Step by step}, they went through the dark {house|hall}. {The floor creaked.|The wind blew.}"],
        ["$H {opened the door|held up the lamp}. And what did they see? It was $truth! $need2.", "{Slowly|Very slowly}, $H opened the door and looked. It was only $truth. $need2."],
        ["{$H and $F|Both of them} began to laugh. \"{And I thought it was a monster|We were afraid of nothing},\" said $H.", "\"{That is all|So that is it}!\" said $F. {They laughed until $H's $elder woke up.|^They laughed and laughed.}"],
        ["Then they {drank some warm milk|took care of it} and went back to bed.", "$H learned that {things are not so scary when you look at them|it helps to look before you are afraid}.", "Soon {they were|$H was} fast asleep."],
    ])

PLOTS["newcomer"] = dict(
    pick={("game", "odd"): [
        ("hide and seek", "had a strange hat"), ("tag", "spoke very softly"), ("ball", "had one short leg"), ("jump rope", "had big round glasses"),
        ("cards", "never smiled"), ("marbles", "wore two different shoes"), ("catch", "came from far away")]},
    beats=[
        ["One $weather $time, a new $fkind came to {town|live next door}. $fhis name was $F. $F $odd.", "One $weather $time, a $fkind named $F moved into the house {next door|across the street}. $F $odd, and $fhe {knew nobody|was all alone}."],
        ["The others {whispered|laughed}. \"{We do not want to play with $fhim|$fhe is strange},\" they said. $F {heard it and walked away|looked very sad}.", "When the others played $game, $F {stood by the fence and watched|sat alone under a tree}. {Nobody asked $fhim to play.|}"],
        ["$H saw this and {felt sorry|thought, \"That is not nice\"}. $he {remembered how it feels to be alone|wanted to do something}.", "\"{How would I feel|What if I were new}?\" thought $H. {It made $him sad.|}"],
        ["So $H {walked|went} over to $F. \"Hello, I am $H,\" $he said. \"{Do you want to play $game with me|Would you like to play $game}?\" $F {looked up|was surprised}. \"{Really|With me}?\" $fhe asked. \"{Yes|Of course}!\" said $H.",
         "$H {took a deep breath and |}went to $F. \"{Hello|Hi}! {My name is|I am} $H. What is your name?\" \"I am $F,\" {said the $fkind|$fhe said} {quietly|with a shy smile}. \"Come and play $game with us,\" said $H."],
        ["They played $game {all $time|until the sun went down}. $F was very good at it! {Soon|Then} the others came, too. \"{Can we play|May we join you}?\" they asked.",
         "It {turned out|was soon clear} that $F was {very funny|very good at $game}. {Soon everyone wanted to play with $fhim.|The others came closer and closer, and soon everyone played together.}"],
        ["\"{We are sorry|We were not nice},\" said the others. $F smiled. \"{That is all right|Let us all be friends},\" $fhe said.", "\"Thank you for {talking to me|asking me},\" said $F {to $H|later}. \"{I was so lonely|You were the first one who was kind to me}.\""],
        ["", "$H learned that a kind word can {change everything|make a new friend}.", "{The next day|After that}, $F was never alone again."],
    ])

PLOTS["wish"] = dict(
    pick={("magic", "found"): [
        ("fish", "in a net by the river"), ("bird", "in a thorn bush"), ("frog", "in a deep hole"), ("butterfly", "in a spider web"), ("fox", "in a trap"),
        ("fairy", "under a fallen leaf"), ("star", "in the top of a tree"), ("lizard", "under a heavy stone")],
        ("silly", "problem"): [("a mountain of candy", "soon $H had a tummy ache"), ("a hundred toys", "there was no room left in the house"),
        ("a golden crown", "it was so heavy that $H could not play"), ("a giant cake", "it was too big for the door"), ("snow in summer", "all the flowers were cold")]},
    beats=[
        ["One $weather $time, $H found a {golden|silver|magic} $magic. It was stuck $found. \"Please help me,\" said the $magic.", "One $weather $time, $H heard a {tiny|soft} voice. \"Help! Help!\" It was a {golden|silver} $magic, stuck $found."],
        ["$H {helped it|set it free} {very |}{gently|carefully}. \"Thank you,\" said the $magic. \"{You have a good heart|You are kind}. I will give you {two wishes|a wish, and then one more}.\"", "$H {quickly|carefully} set it free. \"I am a magic $magic,\" it said. \"You saved me. Now you may make two wishes.\""],
        ["\"{A wish|Two wishes}!\" {cried|said} $H. $he {thought about it|did not think long}. \"I wish for $silly!\" {Poof!|^Whoosh!} There it was.", "$H was so excited. \"I want $silly!\" $he said. And {poof|whoosh}, there it was!"],
        ["At first $H was {very |}happy. But $problem. {\"That was a silly wish,\" $he said.|\"This is no fun,\" said $H.}", "But then $problem. {$H sat down and sighed.|\"Oh dear,\" said $H.}"],
        ["Then $H saw $F. $F was {sick in bed|sad because $fhis house had a hole in the roof|hungry and cold}. {Now $H knew what to wish for.|$H thought hard about the last wish.}", "Just then $F {came by|walked past}. $fhe {had hurt $fhis leg|had lost $fhis home in the storm} and {was crying|looked very sad}. $H {had|got} an idea."],
        ["\"I wish that $F {is|will be} well and happy,\" said $H. The $magic {smiled|shone like the sun}. \"That is the best wish of all,\" it said. And {at once|so} $F was {well|happy} again.", "\"My last wish is for $F,\" $he {said|whispered}. \"Please help $fhim.\" There was a bright light, and $F {smiled|began to laugh}. {Everything was good again.|}"],
        ["", "$H learned that the best wishes are for others.", "The $magic said goodbye and was never seen again."],
    ])

PLOTS["race"] = dict(
    pick={("race", "mishap"): [
        ("race around the lake", "slipped in the mud"), ("boat race", "got stuck between the stones"), ("race up the hill", "hurt a foot"),
        ("sled race", "fell into the deep snow"), ("sack race", "fell on the grass"), ("race through the forest", "ran into a thorn bush")],
        ("award",): [("a gold medal",), ("a big cup",), ("a blue ribbon",), ("a basket of fruit",)]},
    beats=[
        ["One $weather $time, there was a $race. The prize was $award. $H wanted to win{.| more than anything.}", "Every year, there was a $race in the village. \"This time I will win,\" said $H. The prize was $award."],
        ["$F was in the race, too. \"{I will be first|I am faster than you},\" said $F. \"{We will see|No, I will be first},\" said $H and laughed.", "$H {trained|practiced} every day. {On the big day|Then}, everyone came to watch. $F was {there|in the race}, too."],
        ["\"{Ready, set, go|One, two, three, go}!\" {They ran off|Off they went}! $H was {fast|quick}, {and|but} $F was {fast|quick}, too.", "{The race began.|\"Go!\" called $H's $elder, and the race began.} $H {was in front|took the lead}. {$F was close behind.|$F was right behind $him.}"],
        ["{Suddenly|Then}, $F $mishap. \"{Help|Ouch}!\" cried $F. {Nobody else stopped.|The others ran on.|}", "{But halfway|Near the end}, there was a cry. $F had had bad luck: $fhe $mishap."],
        ["$H {stopped|slowed down}. {\"If I stop, I will lose,\" $he thought.|$he could see the finish line.} But $F was {a friend|$his friend}. So $H {turned around|went back} and {helped $fhim up|took $fhis hand}.", "$H looked {ahead|at the finish line}, and then $he looked back. \"{A friend is more important than a prize|I cannot leave $fhim there},\" $he thought. $he ran back and helped $F."],
        ["{Arm in arm|Slowly}, they {went on|walked} to the end. They were the last. But everyone {clapped|cheered} louder than ever.", "They {crossed the line|came in} together, {last of all|long after the others}. \"{You could have won|Why did you stop}?\" asked $F. \"{You are more important|You are my friend},\" said $H."],
        ["The judge {smiled|stood up}. \"{There is a special prize today|This prize is for a good heart},\" said the judge. And $H got $award.",
         "$H did not win, but $he {was happy|had something better}.", "$H and $F {shared|ate} a big {lunch|ice cream} after that."],
    ])

PLOTS["map"] = dict(
    pick={("hidden", "inside"): [
        ("under the old bridge", "a box full of marbles"), ("behind the waterfall", "a shiny silver cup"), ("at the foot of the tall oak", "a bag of chocolate coins"),
        ("in a cave near the sea", "an old toy ship"), ("on top of the green hill", "a small chest with a golden bell"), ("inside a hollow tree", "a letter and a music box")],
        ("obst", "solve"): [("a wide stream", "jumped from stone to stone"), ("a thick hedge", "crawled through a small hole"), ("a locked gate", "climbed over the wall"),
        ("a steep hill", "held hands and climbed up slowly"), ("a sleepy bear", "walked by on tiptoe")]},
    beats=[
        ["One $weather $time, $H found an old map {in the attic|in a book|in a bottle}. There was a big red cross on it. \"It is a treasure map!\" {$he said|cried $H}.", "One $weather $time, $H and $F found a map {in a bottle|under a stone|in an old book}. \"{Look|Oh}, a treasure map!\" said $F."],
        ["{$he showed it to $F|They looked at it closely}. \"The treasure is $hidden,\" said $F. \"{Let us find it|Let us go}!\"", "The map said that the treasure was $hidden. \"We have to find it!\" said $H."],
        ["They packed {some bread and cheese|water and apples|a lamp and a rope} and went off. {The sun was high.|The way was long.|}", "{So|At once} they {set off|went on their way}. $H {carried|held} the map, and $F {carried the food|sang a song}."],
        ["Soon they came to $obst. \"{What now|How can we get past}?\" asked $F. $H {thought for a moment|looked around}. Then they $solve.", "But there was $obst in their way. \"{We must turn back|This is the end},\" said $F. \"No,\" said $H. \"{I have an idea|We can do it}.\" And they $solve."],
        ["At last they {were|stood} $hidden. They {dug|looked} and {looked|searched}. {\"Here!\" called $F.|Then $H felt something hard.}", "{After a long walk|At last}, they found the place $hidden. $H {began to dig|moved a big stone}. {There was something there!|}"],
        ["It was $inside! {Their eyes grew big.|\"{Wow|Hurray}!\" they shouted.} {They shared it fairly.|}", "They had found $inside! \"{We are rich|It is wonderful},\" said $H. {\"And we found it together,\" said $F.|}"],
        ["", "\"The best part was {looking for it with you|the adventure},\" said $H.", "They hid the map again for {somebody else|other children} to find."],
    ])
