/* YAML: the tree and its places, what is refused and with which words, overrides, texts that survive printing. */
#include "base/yaml.h"

#include "base/limits.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>

static gsrt_yaml *parse(const char *text)
{
    gsrt_diag diag = {0};
    gsrt_yaml *yaml = NULL;
    gsrt_status status = gsrt_yaml_parse(gsrt_span_of_text(text), "f.yaml", &yaml, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    return yaml;
}

static void refuse(gsrt_span bytes, const char *wanted)
{
    gsrt_diag diag = {0};
    gsrt_yaml *yaml = NULL;
    ck_assert_int_eq(gsrt_yaml_parse(bytes, "f.yaml", &yaml, &diag), GSRT_EINPUT);
    ck_assert_ptr_null(yaml);
    ck_assert_str_eq(diag.text, wanted);
}

START_TEST(tree_and_places)
{
    gsrt_yaml *yaml = parse("a: 1\nlist:\n  - x\n  - {k: \"v\"}\n");
    ck_assert_int_eq(yaml->root->type, GSRT_YAML_MAPPING);
    ck_assert_uint_eq(yaml->root->child_count, 2);
    const gsrt_yaml_node *list = gsrt_yaml_find(yaml->root, "list");
    ck_assert_int_eq(list->type, GSRT_YAML_SEQUENCE);
    ck_assert_uint_eq(list->key_line, 2);
    const gsrt_yaml_node *value = gsrt_yaml_at(yaml, "list[1].k");
    ck_assert_str_eq(value->text, "v");
    ck_assert_uint_eq(value->line, 4);
    ck_assert_uint_eq(value->column, 9);
    char room[64];
    ck_assert_str_eq(gsrt_yaml_place(value, "list[1].k", room, sizeof room), "line 4, column 9: list[1].k");
    ck_assert_str_eq(gsrt_yaml_place(value, NULL, room, sizeof room), "line 4, column 9");
    ck_assert_ptr_null(gsrt_yaml_at(yaml, "list[2]"));
    ck_assert_ptr_null(gsrt_yaml_at(yaml, "list.k"));
    ck_assert_ptr_null(gsrt_yaml_at(yaml, "list["));
    ck_assert_ptr_null(gsrt_yaml_find(value, "x"));
    ck_assert_ptr_null(gsrt_yaml_find(NULL, "x"));
    (void)gsrt_yaml_free(yaml);
}
END_TEST

START_TEST(types_of_scalars)
{
    static const struct {
        const char *text;
        gsrt_yaml_type type;
    } cases[] = {
        {"~", GSRT_YAML_NULL},         {"null", GSRT_YAML_NULL},     {"true", GSRT_YAML_BOOL},
        {"false", GSRT_YAML_BOOL},     {"0", GSRT_YAML_INTEGER},     {"-12", GSRT_YAML_INTEGER},
        {"+3", GSRT_YAML_INTEGER},     {"1.5", GSRT_YAML_NUMBER},    {".5", GSRT_YAML_NUMBER},
        {"1.", GSRT_YAML_NUMBER},      {"1e5", GSRT_YAML_NUMBER},    {"1e-05", GSRT_YAML_NUMBER},
        {"-.inf", GSRT_YAML_NUMBER},   {".nan", GSRT_YAML_NUMBER},   {"yes", GSRT_YAML_AMBIGUOUS},
        {"Off", GSRT_YAML_AMBIGUOUS},  {"010", GSRT_YAML_AMBIGUOUS}, {"0x10", GSRT_YAML_AMBIGUOUS},
        {"True", GSRT_YAML_AMBIGUOUS}, {"hello", GSRT_YAML_TEXT},    {"1e", GSRT_YAML_TEXT},
        {"1.2.3", GSRT_YAML_TEXT},     {".", GSRT_YAML_TEXT},        {"1 2", GSRT_YAML_TEXT},
        {"nanny", GSRT_YAML_TEXT},     {"12a", GSRT_YAML_TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "k: %s", cases[i].text);
        gsrt_yaml *yaml = parse(text);
        const gsrt_yaml_node *node = gsrt_yaml_find(yaml->root, "k");
        ck_assert_msg(node->type == cases[i].type, "%s: %s, not %s", cases[i].text, gsrt_yaml_type_name(node->type),
                      gsrt_yaml_type_name(cases[i].type));
        (void)gsrt_yaml_free(yaml);
        (void)snprintf(text, sizeof text, "k: '%s'", cases[i].text);
        yaml = parse(text);
        ck_assert_int_eq(gsrt_yaml_find(yaml->root, "k")->type, GSRT_YAML_TEXT);
        (void)gsrt_yaml_free(yaml);
    }
}
END_TEST

START_TEST(empty_documents)
{
    gsrt_yaml *yaml = parse("");
    ck_assert_int_eq(yaml->root->type, GSRT_YAML_NULL);
    (void)gsrt_yaml_free(yaml);
    yaml = parse("# nothing\n");
    ck_assert_int_eq(yaml->root->type, GSRT_YAML_NULL);
    (void)gsrt_yaml_free(yaml);
    ck_assert_ptr_null(gsrt_yaml_free(NULL));
}
END_TEST

START_TEST(refused_documents)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"a: 1\na: 2\n", "f.yaml: line 2, column 1: key 'a' is given twice, first in line 1; remove one"},
        {"a: &x 1\n", "f.yaml: line 1, column 4: anchors (&name) are not supported; write the value out"},
        {"a: &x [1]\n", "f.yaml: line 1, column 4: anchors (&name) are not supported; write the value out"},
        {"a: [*x]\n", "f.yaml: line 1, column 5: aliases (*name) are not supported; write the value out"},
        {"a: !!str 1\n", "f.yaml: line 1, column 4: tags (!name) are not supported; write the plain value"},
        {"a: !x {}\n", "f.yaml: line 1, column 4: tags (!name) are not supported; write the plain value"},
        {"a: 1\n---\nb: 2\n", "f.yaml: line 2, column 1: a second document; only one is read, remove the '---'"},
        {"? [a]\n: 1\n", "f.yaml: line 1, column 3: a key must be plain text"},
        {"a: \"x\\0y\"\n", "f.yaml: line 1, column 4: text with a zero byte is not supported; remove it"},
        {"a: [1\n",
         "f.yaml: line 2, column 1: no valid YAML: did not find expected ',' or ']' while parsing a flow sequence"},
        {"a: \xff\n", "f.yaml: byte 3: no valid UTF-8 text: invalid leading UTF-8 octet"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(gsrt_span_of_text(cases[i].text), cases[i].wanted);
}
END_TEST

START_TEST(limits_hold)
{
    char deep[4 * GSRT_YAML_DEPTH_MAX] = {0};
    memset(deep, '[', GSRT_YAML_DEPTH_MAX);
    memset(deep + GSRT_YAML_DEPTH_MAX, ']', GSRT_YAML_DEPTH_MAX);
    (void)gsrt_yaml_free(parse(deep));
    memset(deep, '[', GSRT_YAML_DEPTH_MAX + 1);
    memset(deep + GSRT_YAML_DEPTH_MAX + 1, ']', GSRT_YAML_DEPTH_MAX + 1);
    refuse(gsrt_span_of_text(deep), "f.yaml: line 1, column 33: nested too deep");

    size_t bytes = 2 * (GSRT_YAML_NODES_MAX + 1) + 2;
    char *wide = malloc(bytes);
    ck_assert_ptr_nonnull(wide);
    size_t at = 0;
    wide[at++] = '[';
    for (int i = 0; i < GSRT_YAML_NODES_MAX; i++) {
        wide[at++] = '1';
        wide[at++] = i % 64 == 63 ? '\n' : ',';
        if (i % 64 == 63)
            wide[at - 1] = ',';
    }
    wide[at++] = ']';
    gsrt_diag diag = {0};
    gsrt_yaml *yaml;
    ck_assert_int_eq(gsrt_yaml_parse(gsrt_span_of(wide, at), "f.yaml", &yaml, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "too many values"));
    free(wide);

    gsrt_buffer keys;
    gsrt_buffer_init(&keys, 1 << 16);
    for (int i = 0; i <= GSRT_YAML_KEYS_MAX; i++)
        ck_assert_int_eq(gsrt_buffer_print(&keys, "k%d: 1\n", i), GSRT_OK);
    refuse(gsrt_buffer_span(&keys), "f.yaml: line 257, column 1: too many keys in one mapping");
    gsrt_buffer_fini(&keys);

    static const uint8_t huge[GSRT_SCENARIO_BYTES_MAX + 1];
    refuse(gsrt_span_of(huge, sizeof huge), "f.yaml: 8388609 bytes; at most 8388608 are read");
}
END_TEST

static void set(gsrt_yaml *yaml, const char *path, const char *value, const char *wanted)
{
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_yaml_set(yaml, path, value, &diag);
    ck_assert_int_eq(status, wanted == NULL ? GSRT_OK : GSRT_EINPUT);
    ck_assert_str_eq(diag.text, wanted == NULL ? "" : wanted);
}

START_TEST(overrides)
{
    gsrt_yaml *yaml = parse("a: {b: [1, {c: 2}]}\nz: 9\n");
    set(yaml, "a.b[1].c", "three", NULL);
    ck_assert_str_eq(gsrt_yaml_at(yaml, "a.b[1].c")->text, "three");
    set(yaml, "a.b[0]", "{x: 5}", NULL);
    ck_assert_str_eq(gsrt_yaml_at(yaml, "a.b[0].x")->text, "5");
    set(yaml, "a.b[2]", "last", NULL);
    ck_assert_uint_eq(gsrt_yaml_at(yaml, "a.b")->child_count, 3);
    set(yaml, "new.er.est", "1", NULL);
    ck_assert_str_eq(gsrt_yaml_at(yaml, "new.er.est")->text, "1");
    ck_assert_str_eq(gsrt_yaml_at(yaml, "new.er.est")->origin, "--set new.er.est");
    set(yaml, "z", "", NULL);
    ck_assert_int_eq(gsrt_yaml_at(yaml, "z")->type, GSRT_YAML_NULL);
    set(yaml, "z", "[1, 2]", NULL);
    set(yaml, "z[2]", "3", NULL);
    ck_assert_str_eq(gsrt_yaml_at(yaml, "z[2]")->text, "3");
    char room[64];
    const gsrt_yaml_node *node = gsrt_yaml_at(yaml, "a.b[0].x");
    ck_assert_str_eq(gsrt_yaml_place(node, "a.b[0].x", room, sizeof room), "--set a.b[0]: a.b[0].x");
    node = gsrt_yaml_at(yaml, "z[2]");
    ck_assert_str_eq(gsrt_yaml_place(node, "z[2]", room, sizeof room), "--set z[2]");

    static const char malformed[] = "no path of keys and indexes; write it like workload.requests[0].seed";
    static const char *const bad[] = {"", ".", "a.", "a..b", "a[", "a[x]", "a.b[1]c", "a.b[]", ".a"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char wanted[160];
        (void)snprintf(wanted, sizeof wanted, "--set %s: %s", bad[i], malformed);
        gsrt_diag diag = {0};
        ck_assert_int_eq(gsrt_yaml_set(yaml, bad[i], "1", &diag), GSRT_EINPUT);
        ck_assert_msg(strcmp(diag.text, wanted) == 0 || strstr(diag.text, "cannot look for") != NULL, "%s", diag.text);
    }
    set(yaml, "a.b[7]", "1", "--set a.b[7]: index 7 is past the end; the list has 3 items");
    set(yaml, "z.k", "1", "--set z.k: cannot look for the key 'k' in a list");
    set(yaml, "a", "&x 1", "--set a: anchors (&name) are not supported; write the value out");
    set(yaml, "a", "[1", "--set a: no valid YAML: did not find expected ',' or ']' while parsing a flow sequence");
    (void)gsrt_yaml_free(yaml);
}
END_TEST

START_TEST(texts_survive)
{
    static const char *const texts[] = {
        "",
        "plain",
        "a \"quoted\" \\ back",
        "line\nbreak\ttab\r",
        "\x01\x1f\x7f",
        "caf\xc3\xa9",
        "\xc2\x85",
        "\xe2\x80\xa8\xe2\x80\xa9",
        "\xef\xbb\xbf",
        "\xf0\x9f\x98\x80 smile",
        " lead",
        "trail ",
        "# no comment",
        "a: b",
        "- x",
        "%",
        "\xc2\xa0",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        gsrt_buffer out;
        gsrt_buffer_init(&out, 4096);
        ck_assert_int_eq(gsrt_buffer_print(&out, "k: "), GSRT_OK);
        ck_assert_int_eq(gsrt_yaml_print_text(&out, texts[i]), GSRT_OK);
        ck_assert_int_eq(gsrt_buffer_append(&out, "\n", 2), GSRT_OK);
        gsrt_yaml *yaml = parse((const char *)out.data);
        ck_assert_str_eq(gsrt_yaml_find(yaml->root, "k")->text, texts[i]);
        (void)gsrt_yaml_free(yaml);
        gsrt_buffer_fini(&out);
    }
    gsrt_buffer small;
    gsrt_buffer_init(&small, 4);
    ck_assert_int_eq(gsrt_yaml_print_text(&small, "longer"), GSRT_ELIMIT);
    ck_assert_uint_eq(small.len, 0);
    gsrt_buffer_fini(&small);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {tree_and_places, types_of_scalars, empty_documents, refused_documents,
                            limits_hold,     overrides,        texts_survive};
    return unit_run("yaml", tests, sizeof tests / sizeof tests[0]);
}
