#include "base/status.h"

const char *gsrt_status_text(gsrt_status status)
{
    switch (status) {
#define GSRT_STATUS_TEXT(name, number, text)                                                                           \
    case GSRT_##name: return text;
        GSRT_STATUS_LIST(GSRT_STATUS_TEXT)
#undef GSRT_STATUS_TEXT
    }
    return "unknown status";
}

const char *gsrt_status_name(gsrt_status status)
{
    switch (status) {
#define GSRT_STATUS_NAME(name, number, text)                                                                           \
    case GSRT_##name: return #name;
        GSRT_STATUS_LIST(GSRT_STATUS_NAME)
#undef GSRT_STATUS_NAME
    }
    return "?";
}
