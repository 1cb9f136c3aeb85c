/* The policy `milp` where GSRT was built without GLPK. */
#include "placement/search_impl.h"

void gsrt__search_milp(gsrt__search *s)
{
    s->status = gsrt_diag_set(s->diag, GSRT_EUNSUPPORTED, NULL, NULL,
                              "policy 'milp' needs GLPK, which this build lacks; install libglpk-dev and configure "
                              "again, or use dp or local");
}
