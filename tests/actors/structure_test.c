/* The pieces that the node is built from, each against a plain model: map, slab, alarms, queue. */
#include "tests/unit.h"

#include "actors/alarms.h"
#include "actors/map.h"
#include "actors/queue.h"
#include "actors/slab.h"
#include "base/random.h"

#include <string.h>

enum { ROUND_COUNT = 20000, KEY_COUNT = 300 };

static uint32_t draw(uint64_t stream, uint64_t counter, uint32_t below)
{
    return (uint32_t)(gsrt_random_u64(7, stream, counter) % below);
}

START_TEST(a_map_is_an_array_of_its_keys)
{
    gsrt__map map;
    uint64_t model[KEY_COUNT] = {0}, *place;
    uint32_t count = 0;
    gsrt__map_init(&map, KEY_COUNT / 2);
    for (uint64_t i = 0; i < ROUND_COUNT; i++) {
        uint32_t key = draw(1, i, KEY_COUNT);
        uint64_t a = 1 + key / 3, b = key % 3;
        if (draw(2, i, 2) == 0) {
            ck_assert_int_eq(gsrt__map_remove(&map, a, b), model[key] != 0);
            count -= model[key] != 0;
            model[key] = 0;
        } else {
            gsrt_status status = gsrt__map_put(&map, a, b, &place);
            if (model[key] == 0 && count == KEY_COUNT / 2) {
                ck_assert_int_eq(status, GSRT_ELIMIT);
            } else {
                ck_assert_int_eq(status, GSRT_OK);
                ck_assert_uint_eq(*place, model[key]);
                count += model[key] == 0;
                *place = model[key] = i + 1;
            }
        }
        ck_assert_uint_eq(map.count, count);
        uint32_t other = draw(3, i, KEY_COUNT);
        place = gsrt__map_find(&map, 1 + other / 3, other % 3);
        ck_assert_uint_eq(place == NULL ? 0 : *place, model[other]);
    }
    gsrt__map_fini(&map);
}
END_TEST

typedef struct thing {
    gsrt__slab_item item;
    uint64_t value;
} thing;

START_TEST(a_handle_names_one_item_for_ever)
{
    gsrt__slab slab;
    thing *things[KEY_COUNT] = {0};
    uint64_t handles[KEY_COUNT] = {0};
    gsrt__slab_init(&slab, sizeof(thing), KEY_COUNT / 2);
    uint32_t count = 0;
    for (uint64_t i = 0; i < ROUND_COUNT; i++) {
        uint32_t key = draw(4, i, KEY_COUNT);
        if (things[key] == NULL) {
            things[key] = gsrt__slab_take(&slab);
            ck_assert_int_eq(things[key] == NULL, count == KEY_COUNT / 2);
            if (things[key] == NULL)
                continue;
            ck_assert_uint_eq(things[key]->value, 0);
            things[key]->value = i;
            handles[key] = gsrt__slab_handle(&things[key]->item);
            ck_assert_uint_ne(handles[key], 0);
            count++;
        } else {
            ck_assert_ptr_eq(gsrt__slab_find(&slab, handles[key]), things[key]);
            gsrt__slab_give(&slab, things[key]);
            ck_assert_ptr_null(gsrt__slab_find(&slab, handles[key]));
            things[key] = NULL;
            count--;
        }
        uint32_t other = draw(5, i, KEY_COUNT);
        if (handles[other] != 0) /* an old handle finds nothing, even when its place is used again */
            ck_assert_ptr_eq(gsrt__slab_find(&slab, handles[other]), things[other]);
    }
    gsrt__slab_fini(&slab);
}
END_TEST

START_TEST(alarms_come_by_time_then_by_order)
{
    gsrt__alarms alarms = {0};
    gsrt__alarm all[KEY_COUNT] = {0};
    for (uint64_t i = 0; i < ROUND_COUNT / 4; i++) {
        gsrt__alarm *alarm = &all[draw(6, i, KEY_COUNT)];
        if (alarm->place != 0)
            gsrt__alarms_cancel(&alarms, alarm);
        else
            ck_assert_int_eq(gsrt__alarms_set(&alarms, alarm, draw(7, i, 50)), GSRT_OK);
        ck_assert(gsrt__alarms_check(&alarms));
    }
    const gsrt__alarm *last = NULL;
    while (alarms.count > 0) {
        gsrt__alarm *first = gsrt__alarms_first(&alarms);
        ck_assert(last == NULL || last->due_ns < first->due_ns ||
                  (last->due_ns == first->due_ns && last->sequence < first->sequence));
        gsrt__alarms_cancel(&alarms, first);
        gsrt__alarms_cancel(&alarms, first);
        last = first;
    }
    gsrt__alarms_fini(&alarms);
}
END_TEST

START_TEST(a_queue_gives_back_what_it_got_in_order)
{
    gsrt__queue queue;
    ck_assert(gsrt__queue_init(&queue));
    gsrt_payload *payload = gsrt_payload_create(100);
    ck_assert_ptr_nonnull(payload);
    uint64_t put = 0, got = 0;
    for (uint64_t i = 0; i < ROUND_COUNT; i++) {
        if (draw(8, i, 100) < (i / 2000 % 2 == 0 ? 70u : 30u)) { /* it grows, and shrinks */
            size_t bytes = draw(9, put, 50) == 0 ? 200000 : draw(9, put, 300);
            gsrt__record *record = gsrt__queue_append(&queue, bytes, draw(10, put, 2) == 0 ? payload : NULL);
            ck_assert_ptr_nonnull(record);
            if (draw(11, i, 5) == 0) {
                gsrt__queue_retract(&queue, record);
                continue;
            }
            record->cause = put;
            memset(record->body, (int)(put & 255), bytes);
            put++;
        } else if (queue.count > 0) {
            const gsrt__record *record = gsrt__queue_first(&queue);
            size_t bytes = draw(9, got, 50) == 0 ? 200000 : draw(9, got, 300);
            ck_assert_uint_eq(record->cause, got);
            ck_assert_uint_eq(record->body_bytes, bytes);
            ck_assert(bytes == 0 || record->body[bytes - 1] == (got & 255));
            ck_assert_int_eq(record->payload == payload, draw(10, got, 2) == 0);
            gsrt__queue_remove_first(&queue);
            got++;
        }
        ck_assert_uint_eq(queue.count, put - got);
        ck_assert_int_eq(queue.bytes == 0, queue.count == 0);
    }
    gsrt__queue_fini(&queue);
    ck_assert_uint_eq(atomic_load(&payload->references), 1);
    gsrt_payload_unref(payload);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {a_map_is_an_array_of_its_keys, a_handle_names_one_item_for_ever,
                            alarms_come_by_time_then_by_order, a_queue_gives_back_what_it_got_in_order};
    return unit_run("structure", tests, sizeof tests / sizeof tests[0]);
}
