"""Windows that move on in time, of every length around what is moved at once."""

from tests.c.host import answer_of
from tinyrt import kernels_c

PROGRAM = """
#include <stdio.h>
#include <string.h>
#include "tinyrt_shift.h"

enum { MOST = 64 };

/** Whether a window ends as one that is moved byte by byte, and nothing else. */
static int is_moved(int kept, int fresh) {
    static int32_t memory[MOST];
    int8_t *const window = (int8_t *)memory;
    int8_t rows[MOST];
    int8_t expected[sizeof memory];
    for (int i = 0; i < (int)sizeof memory; ++i) {
        window[i] = (int8_t)i;
        expected[i] = (int8_t)i;
    }
    memset(rows, -7, sizeof rows);
    for (int i = 0; i < kept; ++i) {
        expected[i] = (int8_t)(i + fresh);
    }
    memset(expected + kept, -7, (size_t)fresh);
    tinyrt_shift(kept, fresh, rows, window);
    return memcmp(window, expected, sizeof expected) == 0;
}

int main(void) {
    for (int fresh = 4; fresh <= 20; fresh += 4) {
        for (int kept = 0; kept <= 70; ++kept) {
            if (!is_moved(kept, fresh)) {
                printf("%d kept, %d new\\n", kept, fresh);
            }
        }
    }
    return 0;
}
"""


def test_new_rows_push_out_the_oldest(tmp_path):
    wrong = answer_of(PROGRAM, tmp_path, b"", kernels_c.source("tinyrt_shift"))
    assert not wrong.decode()
