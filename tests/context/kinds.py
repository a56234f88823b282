"""Texts of every kind that a context holds, from a seed: none of them was there when the estimate was fitted."""

import base64
import json
import random


def _listed(text, apart="|"):
    return text.split(apart)


WORDS = _listed(
    "account address amount archive balance batch branch buffer cache change channel client column commit config "
    "content counter cursor customer deadline default delivery device document driver element endpoint error event "
    "factory field folder format frame gateway handler header history identity image index input interval invoice item "
    "journal key label layer limit listener locale lock margin member merge message method metric module monitor "
    "network number object offset option order output owner package page parser path payment pending pixel plan policy "
    "pool price process profile project query queue reader record region release report request response result retry "
    "route rule sample schedule schema scope search section segment sender series server session shadow signal size "
    "source stage state status step storage stream summary table target task template thread ticket token total trace "
    "transfer trigger update usage value vector version view volume warning window worker",
    " ",
)
PROSE = _listed(
    "We looked at the build again this morning and the failure is not where anybody expected it|Nothing in the log "
    "says why, but the second run passes whenever the directory is empty|Please keep the old behaviour for people who "
    "never changed their settings|The customer wrote that the invoice was paid twice, once in March and once in May|I "
    "would rather delete this function than explain to someone what it is good for|Whoever reads the manual will find "
    "three different answers to the same question|It rained for a week and the river rose over the meadow|A small test "
    "that fails is worth more than a large one that nobody runs|Remember that our office is closed on the first Friday "
    "of the month"
)
CHINESE = _listed(
    "请先检查配置文件是否存在|服务器在凌晨三点重新启动了两次|我们需要在星期五之前完成这个版本的测试|"
    "数据库连接超时，请稍后再试|"
    "这个函数的返回值没有任何说明|用户反映登录页面打开得很慢|昨天晚上下了一场大雨，河水涨得很高|"
    "如果缓存已经过期，就从磁盘重新读取|"
    "她把钥匙放在厨房的桌子上就出去了|不要删除别人还在使用的文件|订单金额与发票上的数字不一致|"
    "每次修改之后都要运行全部测试"
)
JAPANESE = _listed(
    "まず設定ファイルがあるかどうかを確認してください|サーバーは夜中に二回再起動しました|"
    "金曜日までにこのバージョンのテストを終える必要があります|"
    "データベースへの接続がタイムアウトしました|この関数の戻り値については何も書かれていません|"
    "ログイン画面の表示が遅いという報告がありました|"
    "昨日の夜は大雨で川の水がかなり増えた|キャッシュの期限が切れていればディスクから読み直します|"
    "彼女は鍵を台所の机に置いて出かけた|"
    "他の人が使っているファイルは削除しないでください|注文の金額が請求書と合っていません"
)
KOREAN = _listed(
    "먼저 설정 파일이 있는지 확인해 주세요|서버가 새벽에 두 번 다시 시작되었습니다|"
    "금요일까지 이 버전의 테스트를 끝내야 합니다|데이터베이스 연결 시간이 초과되었습니다|"
    "이 함수의 반환값에 대한 설명이 없습니다|로그인 화면이 너무 느리다는 신고가 들어왔습니다|"
    "어젯밤에 비가 많이 와서 강물이 불어났다|캐시가 만료되면 디스크에서 다시 읽습니다|"
    "그녀는 열쇠를 부엌 식탁 위에 두고 나갔다|다른 사람이 쓰고 있는 파일은 지우지 마세요|"
    "주문 금액이 청구서와 맞지 않습니다"
)
BLANKS = (" ", "\t", "\n", "\r", "\r\n", "\u3000", "\xa0", "\x0b", "\x0c", "\x1c", "\x85", "\u2003", "\u2028", "\u1680")


def code(rng):
    """Functions as a careful person writes them in Python."""
    lines = []
    for _ in range(40):
        one, two, three, four = rng.sample(WORDS, 4)
        five, six, seven = rng.sample(WORDS, 3)
        lines += [
            f"def {one}_{two}(self, {three}: list[{four.title()}], *, {five}_ms: int = {rng.randrange(90)}) -> None:",
            f'    """Gives the {two} of a {one}."""',
            f"    if not self._{three} or len({three}) > {rng.randrange(100)}:",
            f'        raise {one.title()}{two.title()}Error(f"no {three} in {{self.{four}}}")',
            f"    for {four}, {two} in enumerate({three}):",
            f"        self.{one}[{four}] = {two}.{five}({three}, {six}=True)  # {seven}",
            "",
        ]
    return "\n".join(lines)


def json_logs(rng):
    """Records of a service, a line each."""
    return "\n".join(
        json.dumps(
            {
                "time": f"2026-{rng.randrange(10, 13)}-{rng.randrange(10, 29)}T17:{rng.randrange(10, 60)}:44.000Z",
                "level": rng.choice(["info", "warn", "error"]),
                "logger": ".".join(rng.sample(WORDS, 2)),
                "message": " ".join(rng.sample(WORDS, 5)),
                "request_id": rng.randbytes(12).hex(),
                "elapsed": rng.random(),
                rng.choice(WORDS) + "Count": rng.randrange(100_000),
                "flags": [rng.choice([True, False, None]) for _ in range(3)],
            }
        )
        for _ in range(60)
    )


def _sentences(said, end):
    return lambda rng: "".join(rng.choice(said) + end for _ in range(80))


KINDS = {
    "code": code,
    "JSON logs": json_logs,
    "Chinese": _sentences(CHINESE, "。"),
    "Japanese": _sentences(JAPANESE, "。"),
    "Korean": _sentences(KOREAN, ". "),
    "base64": lambda rng: base64.b64encode(rng.randbytes(9_000)).decode(),
    "base64 in lines": lambda rng: base64.encodebytes(rng.randbytes(9_000)).decode(),
    "hexadecimal": lambda rng: rng.randbytes(5_000).hex(),
    "prose": _sentences(PROSE, ". "),
}
"""What the text is -> a text of it, made with a generator of random numbers."""


def blank(rng):
    """White space of any kind."""
    kinds = BLANKS[: rng.choice([1, 2, 3, 5, len(BLANKS)])]
    lengths = [1, 1, 1, 2, 4, 8, rng.randrange(1, 200)]
    return "".join(rng.choice(kinds) * rng.choice(lengths) for _ in range(rng.randrange(1, 9)))


def of(kind, seed):
    """A text of that kind."""
    return KINDS[kind](random.Random(seed))
