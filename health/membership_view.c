/* Views, and how much their members weigh. */
#include "health/membership_impl.h"

#include <string.h>

uint32_t gsrt_membership_coordinator(const gsrt_membership_view *view)
{
    uint32_t best = GSRT_NOT_A_MEMBER;
    for (uint32_t rank = 0; rank < view->rank_count; rank++)
        if (view->incarnations[rank] != GSRT_NOT_A_MEMBER &&
            (best == GSRT_NOT_A_MEMBER || view->incarnations[rank] < view->incarnations[best]))
            best = rank;
    return best;
}

void gsrt__view_copy(gsrt_membership_view *to, const gsrt_membership_view *from)
{
    to->epoch = from->epoch;
    to->rank_count = from->rank_count;
    to->is_leased = from->is_leased;
    memcpy(to->incarnations, from->incarnations, from->rank_count * sizeof *to->incarnations);
}

bool gsrt__view_equal(const gsrt_membership_view *a, const gsrt_membership_view *b)
{
    return a->epoch == b->epoch && a->rank_count == b->rank_count &&
           memcmp(a->incarnations, b->incarnations, a->rank_count * sizeof *a->incarnations) == 0;
}

bool gsrt__view_valid(const gsrt_membership_view *view, uint32_t rank_count)
{
    return view->epoch >= 1 && view->epoch < UINT32_MAX && view->rank_count == rank_count &&
           gsrt_membership_coordinator(view) != GSRT_NOT_A_MEMBER;
}

bool gsrt__is_member(const gsrt_membership_view *view, uint32_t rank, uint32_t incarnation)
{
    return rank < view->rank_count && incarnation != GSRT_NOT_A_MEMBER && view->incarnations[rank] == incarnation;
}

uint32_t gsrt__lowest(const gsrt_membership_view *view)
{
    for (uint32_t rank = 0; rank < view->rank_count; rank++)
        if (view->incarnations[rank] != GSRT_NOT_A_MEMBER)
            return rank;
    return GSRT_NOT_A_MEMBER;
}

uint32_t gsrt__weight_all(const gsrt_membership *machine)
{
    uint32_t weight = 1;
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++)
        weight += machine->view.incarnations[rank] != GSRT_NOT_A_MEMBER ? 2 : 0;
    return weight;
}

/* A member whose death is certain: by the word of its keeper, or because its next incarnation lives. */
bool gsrt__is_dead(const gsrt_membership *machine, uint32_t rank)
{
    const gsrt__peer *peer = &machine->peers[rank];
    uint32_t incarnation = machine->view.incarnations[rank];
    return incarnation != GSRT_NOT_A_MEMBER &&
           (peer->word.is_known || (peer->next_word.is_known && peer->next_word.incarnation > incarnation) ||
            (peer->is_joining && peer->join_incarnation > incarnation));
}

/* Dead, and all that it has accepted for the next view is known: nothing, or `late`. */
bool gsrt__has_testament(const gsrt_membership *machine, uint32_t rank)
{
    const gsrt__word_note *word = &machine->peers[rank].word;
    if (machine->view.incarnations[rank] == GSRT_NOT_A_MEMBER || !word->is_known)
        return false;
    if (word->epoch <= machine->view.epoch)
        return true;
    return word->epoch == machine->view.epoch + 1 && word->ballot != 0 && machine->late.epoch == word->epoch &&
           machine->late_ballot >= word->ballot;
}

uint32_t gsrt__weight_testaments(const gsrt_membership *machine)
{
    uint32_t weight = 0, lowest = gsrt__lowest(&machine->view);
    for (uint32_t rank = 0; rank < machine->view.rank_count; rank++)
        if (gsrt__has_testament(machine, rank))
            weight += rank == lowest ? 3 : 2;
    return weight;
}

/* How many members stand before `rank` in the order of proposers: smaller, and as far as we know well. */
uint32_t gsrt__position(const gsrt_membership *machine, uint32_t rank)
{
    uint32_t position = 0;
    for (uint32_t before = 0; before < rank; before++)
        if (machine->view.incarnations[before] != GSRT_NOT_A_MEMBER && !gsrt__is_dead(machine, before) &&
            !machine->peers[before].is_suspected && !machine->peers[before].is_unreachable)
            position++;
    return position;
}
