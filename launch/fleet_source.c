#include "launch/fleet_source.h"

#include "base/limits.h"
#include "launch/fleet_hwloc.h"
#include "launch/read_file.h"
#include "placement/topology_matrix.h"

#include <stdio.h>
#include <stdlib.h>

enum { CATALOGUES_MAX = 16 };

/* Translate what is no inventory; *text is one then. */
static gsrt_status translate(const char *path, gsrt_buffer *text, gsrt_diag *diag)
{
    const char *first = (const char *)text->data + strspn((const char *)text->data, " \t\r\n");
    size_t path_len = strlen(path);
    bool is_xml = *first == '<' || (path_len > 4 && strcmp(path + path_len - 4, ".xml") == 0);
    if (!is_xml && !gsrt_topology_matrix_is(gsrt_buffer_span(text)))
        return GSRT_OK;
    gsrt_buffer inventory;
    gsrt_buffer_init(&inventory, GSRT_SCENARIO_BYTES_MAX);
    gsrt_status status = is_xml ? gsrt_fleet_hwloc_file(gsrt_buffer_span(text), path, &inventory, diag)
                                : gsrt_topology_matrix_read(gsrt_buffer_span(text), path, &inventory, diag);
    gsrt_buffer_fini(text);
    *text = inventory;
    return status;
}

/* `name` beside the file `path`, unless it is absolute; owned. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    int directory_len = slash == NULL || name[0] == '/' ? 0 : (int)(slash - path) + 1;
    size_t bytes = (size_t)directory_len + strlen(name) + 1;
    char *made = malloc(bytes);
    if (made != NULL)
        (void)snprintf(made, bytes, "%.*s%s", directory_len, path, name);
    return made;
}

static gsrt_status read_catalogue(const char *path, const gsrt_yaml_node *node, gsrt_yaml **out, gsrt_diag *diag)
{
    char place[256];
    if (node->type != GSRT_YAML_TEXT || node->text_len == 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, gsrt_yaml_place(node, "catalogues", place, sizeof place),
                             "must be the path of a catalogue");
    char *name = beside(path, node->text);
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_SCENARIO_BYTES_MAX);
    gsrt_status status = name == NULL ? GSRT_ENOMEM : gsrt_read_file(name, "give a catalogue", &text, diag);
    if (status == GSRT_OK)
        status = gsrt_yaml_parse(gsrt_buffer_span(&text), name, out, diag);
    gsrt_buffer_fini(&text);
    free(name);
    return status;
}

gsrt_status gsrt_fleet_source_parse(const char *name, gsrt_span text, gsrt_findings *findings, gsrt_fleet **out,
                                    gsrt_diag *diag)
{
    gsrt_yaml *document = NULL, *catalogues[CATALOGUES_MAX] = {NULL};
    gsrt_status status = gsrt_yaml_parse(text, name, &document, diag);
    if (status == GSRT_OK && gsrt_yaml_find(document->root, "gsrt") != NULL)
        status = gsrt_diag_set(diag, GSRT_EINPUT, name, NULL,
                               "this is a scenario, not an inventory; give the file that its 'fleet.inventory' names");
    size_t count = 0;
    const gsrt_yaml_node *list = status == GSRT_OK ? gsrt_yaml_find(document->root, "catalogues") : NULL;
    if (list != NULL && (list->type != GSRT_YAML_SEQUENCE || list->child_count > CATALOGUES_MAX)) {
        char place[256];
        status = gsrt_diag_set(diag, GSRT_EINPUT, name, gsrt_yaml_place(list, "catalogues", place, sizeof place),
                               "must be a list of at most %d paths", CATALOGUES_MAX);
    }
    for (const gsrt_yaml_node *node = list == NULL ? NULL : list->child_first; node != NULL && status == GSRT_OK;
         node = node->next)
        status = read_catalogue(name, node, &catalogues[count++], diag);
    const gsrt_yaml *types[CATALOGUES_MAX];
    for (size_t i = 0; i < count; i++)
        types[i] = catalogues[i];
    if (status == GSRT_OK)
        status = gsrt_fleet_read(document, types, count, findings, out);
    for (size_t i = 0; i < count; i++)
        (void)gsrt_yaml_free(catalogues[i]);
    (void)gsrt_yaml_free(document);
    return status;
}

gsrt_status gsrt_fleet_source_read(const char *path, gsrt_findings *findings, gsrt_fleet **out, gsrt_diag *diag)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_SCENARIO_BYTES_MAX + 1);
    gsrt_status status = gsrt_read_file(path, "give an inventory, an hwloc export or a topo -m matrix", &text, diag);
    if (status == GSRT_OK)
        status = translate(path, &text, diag);
    if (status == GSRT_OK)
        status = gsrt_fleet_source_parse(path, gsrt_buffer_span(&text), findings, out, diag);
    gsrt_buffer_fini(&text);
    return status;
}
