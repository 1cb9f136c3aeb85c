/* Every ceiling of GSRT: value, unit, reason. No queue, loop, retry or buffer without an entry here.
 * Inputs are checked against these before anything is allocated.
 */
#ifndef GSRT_BASE_LIMITS_H
#define GSRT_BASE_LIMITS_H

/* ranks and processes */
#define GSRT_RANK_COUNT_MAX 1024  /* ranks of one job; addresses carry 16 bits */
#define GSRT_STAGE_COUNT_MAX 256  /* pipeline stages of a plan */
#define GSRT_GROUP_RANKS_MAX 64   /* ranks of one stage: a bit mask of members fits a word */
#define GSRT_THREAD_COUNT_MAX 256 /* compute threads of one rank */

/* models */
#define GSRT_LAYER_COUNT_MAX 1024       /* layers of a model */
#define GSRT_EXPERT_COUNT_MAX 4096      /* experts of a layer: sizes of a stack fit 62 bits */
#define GSRT_TENSOR_COUNT_MAX 65536     /* tensors of a model file */
#define GSRT_TENSOR_DIM_COUNT_MAX 4     /* GGUF's own limit */
#define GSRT_DIM_MAX (1u << 24)         /* one dimension of a matrix that we compute with */
#define GSRT_NAME_BYTES_MAX 256         /* tensor and key names */
#define GSRT_METADATA_COUNT_MAX 65536   /* key-value pairs of a GGUF file */
#define GSRT_ARRAY_COUNT_MAX (1u << 24) /* elements of one array of a model file */
#define GSRT_ALIGNMENT_MAX (1u << 20)   /* bytes; alignment of the tensors in a model file */
#define GSRT_TEXT_BYTES_MAX (16u << 20) /* one string of a model file */
#define GSRT_TOKEN_BYTES_MAX 4096       /* text of one token */
#define GSRT_VOCAB_COUNT_MAX (1u << 20) /* tokens of a vocabulary */
#define GSRT_CONTEXT_MAX (1u << 20)     /* positions of one request */
#define GSRT_HEAD_DIM_MAX 512           /* elements of one attention head */

/* work */
#define GSRT_REQUEST_COUNT_MAX 4096         /* requests of one scenario */
#define GSRT_PROMPT_BYTES_MAX (4u << 20)    /* prompt text of one request */
#define GSRT_BATCH_ROWS_MAX 512             /* rows (tokens) of one step: the prefill block that caches well */
#define GSRT_BATCH_SEQUENCES_MAX 256        /* requests of one step */
#define GSRT_KV_BLOCK_COUNT_MAX (1u << 24)  /* KV blocks of one rank */
#define GSRT_REPLICA_BYTES_MAX (1ull << 30) /* KV that a rank keeps as a replica, its own open requests' included */
#define GSRT_PAGES_BYTES_MAX (1u << 20)     /* KV pages of one message of a move, unless one page is larger */
#define GSRT_DRAFT_TOKENS_MAX 16            /* tokens proposed at once */
#define GSRT_SHARE_MAX 1000000              /* one share of a split */
#define GSRT_SPIN_US_MAX 1000000            /* microseconds that a waiting rank spins at most */
#define GSRT_KV_BLOCK_POSITIONS 64          /* positions of one KV block = of one canonical attention block */

/* messages */
#define GSRT_BODY_BYTES_MAX (1u << 20)      /* msgpack body of one envelope */
#define GSRT_HEADER_BYTES_MAX 128           /* msgpack header of one envelope */
#define GSRT_PAYLOAD_BYTES_MAX (256u << 20) /* payload beside one envelope */
#define GSRT_INBOX_MESSAGES_MAX 65536       /* messages waiting for one actor */
#define GSRT_SENDS_IN_FLIGHT_MAX 64         /* sends in flight to one peer: below UCX's shared-memory FIFO (256) */
#define GSRT_SEND_BYTES_IN_FLIGHT_MAX (64u << 20) /* their bytes; a larger message goes alone */
#define GSRT_RECEIVE_BYTES_IN_FLIGHT_MAX                                                                               \
    (256u << 20)                          /* bytes of large payloads being fetched; a larger one goes alone */
#define GSRT_NOTE_BYTES_MAX 32768         /* one note between processes over TCP: a card, or a deposit of 1024 ranks */
#define GSRT_GUEST_COUNT_MAX 64           /* connections that have not proved themselves yet, of one listener */
#define GSRT_TICKET_BYTES_MAX (32u << 20) /* a ticket: 1024 cards of 16 KiB, a deposit, a blob */
#define GSRT_BLOB_BYTES_MAX (64u << 10)   /* what the application puts into a ticket */
#define GSRT_DRILL_MS_MAX 600000          /* ms that a drill stops a worker */
#define GSRT_DRILL_FACTOR_MAX 1000000000  /* thousandths, of a drill that slows a worker */
#define GSRT_KEEPER_RESTARTS_MAX 255      /* restarts that a keeper counts within its window */
#define GSRT_MSGPACK_DEPTH_MAX 8          /* nesting of a msgpack value from outside */
#define GSRT_MSGPACK_ITEMS_MAX 1048576    /* elements of one msgpack array or map from outside */

/* files */
#define GSRT_WORKLOAD_BYTES_MAX (64u << 20)   /* text form of a workload: 1024 layers need 20 MiB */
#define GSRT_SCENARIO_BYTES_MAX (8u << 20)    /* scenario YAML */
#define GSRT_YAML_DEPTH_MAX 32                /* nesting of a YAML document */
#define GSRT_YAML_NODES_MAX 262144            /* nodes of a YAML document */
#define GSRT_YAML_KEYS_MAX 256                /* keys of one mapping: looked up one by one */
#define GSRT_YAML_ARENA_BYTES_MAX (64u << 20) /* tree of a YAML document */
#define GSRT_JSON_DEPTH_MAX 32                /* nesting of a JSON document from outside */
#define GSRT_JSON_BYTES_MAX (8u << 20)        /* JSON document from outside */
#define GSRT_PATH_BYTES_MAX 4095              /* path of a file: Linux's PATH_MAX without the zero */
#define GSRT_RUN_NUMBER_MAX 99999             /* numbered run directories of one name */
#define GSRT_TOKEN_LINE_BYTES_MAX (1u << 20)  /* one line of tokens.jsonl */
#define GSRT_WATCH_BYTES_MAX (64u << 20)      /* logits that wait for the watch: 128 rows of the widest vocabularies */
#define GSRT_REPORT_BYTES_MAX (256u << 20)    /* report.json */
#define GSRT_TRACE_FRAME_BYTES_MAX (1u << 20) /* one frame of a trace */
#define GSRT_TRACE_HELD_BYTES (4u << 20)      /* of a trace that has no directory yet: minutes of waiting for a view */
#define GSRT_TRACE_FLUSH_BYTES (64u << 10)    /* frames gathered before a write: half of what stays cached */
#define GSRT_REPLAY_ACTIONS_BYTES_MAX (64u << 20) /* actions that one event leads to, in a replay: 64 whole steps */

/* fleets */
#define GSRT_FLEET_PLACES_MAX 4096         /* places of an inventory; each may stand for many, by its count */
#define GSRT_FLEET_PARTS_MAX 4096          /* parts, likewise */
#define GSRT_FLEET_LINKS_MAX 16384         /* links between them, likewise */
#define GSRT_FLEET_PATHS_MAX 1024          /* named paths */
#define GSRT_FLEET_PATH_LINKS_MAX 64       /* links of one path */
#define GSRT_FLEET_TYPES_MAX 1024          /* types of an inventory and its catalogues */
#define GSRT_FLEET_MEASUREMENTS_MAX 16384  /* observations beside what is claimed */
#define GSRT_FLEET_IN_MAX 16               /* places that one thing is in: one location, and power and cooling */
#define GSRT_FLEET_WORDS_MAX 64            /* pieces of software of one part */
#define GSRT_FLEET_COUNTERS_MAX 256        /* hardware counters of one engine: PAPI has some 110 presets */
#define GSRT_FLEET_COUNT_MAX 1048576       /* of one thing in one place */
#define GSRT_FLEET_TOTAL_MAX (1u << 24)    /* of one thing in the whole fleet */
#define GSRT_FLEET_NAME_BYTES_MAX 96       /* of a place, part, path or type */
#define GSRT_FLEET_LINK_NAME_BYTES_MAX 200 /* of a link: two parts, and "->" between them */
#define GSRT_FLEET_PRINT_BYTES_MAX (64u << 20)
#define GSRT_FLEET_ARENA_BYTES_MAX (256u << 20) /* an inventory, resolved */
#define GSRT_DEPLOYMENT_BYTES_MAX (64u << 20)   /* a deployment: pools, stages, members */
#define GSRT_DERIVATION_BYTES_MAX (256u << 20)  /* the steps of a prediction */
#define GSRT_COST_BYTES_MAX (64u << 20)         /* what predictions of a workload on a fleet are made from */
#define GSRT_SEARCH_BYTES_MAX (256u << 20)      /* what a search holds while it runs: sketches, tables of layers */
#define GSRT_SEARCH_TEXT_BYTES_MAX 4096         /* one sentence about a rival */
#define GSRT_FINDING_COUNT_MAX 1000             /* findings that are kept; later ones are counted */

/* contracts */
#define GSRT_CONTRACT_RULE_COUNT_MAX 4096    /* rules of a contract: more than a model has regions */
#define GSRT_CONTRACT_BYTES_MAX (32u << 20)  /* a contract: rules of two texts each */
#define GSRT_VERDICT_BYTES_MAX (64u << 20)   /* transformations of a deployment, some 20 of each region */
#define GSRT_EVIDENCE_COUNT_MAX 4096         /* pieces of evidence that are kept together */
#define GSRT_EVIDENCE_CHANGE_COUNT_MAX 256   /* transformations of one of them */
#define GSRT_EVIDENCE_REGION_COUNT_MAX 2048  /* regions of one transformation: layers, and a few more */
#define GSRT_EVIDENCE_FIGURE_COUNT_MAX 4096  /* statistics of one of them: one of each region, and the answer's */
#define GSRT_EVIDENCE_BYTES_MAX (256u << 20) /* evidence that is kept together */
#define GSRT_EVIDENCE_TEXT_BYTES_MAX 4095    /* one text of it: a path */

/* flow placements */
#define GSRT_FLOW_NODE_COUNT_MAX 1024   /* nodes of a flow instance: a link per pair, 8 MiB */
#define GSRT_FLOW_BYTES_MAX (64u << 20) /* a flow instance, or what a search over it works in */
#define GSRT_FLOW_PRICE_MAX 8192        /* of one layer in a certificate: a knapsack of that size */

/* incidents */
#define GSRT_INCIDENT_COUNT_MAX 4096   /* incidents of one run */
#define GSRT_INCIDENT_ENTRIES_MAX 1024 /* timeline of one incident; later ones are counted */
#define GSRT_INCIDENT_WAYS_MAX 64      /* ways back that were considered in one incident; later ones are counted */
#define GSRT_INCIDENT_DRILLS_MAX 256   /* faults ordered and not seen yet; the oldest is forgotten */
#define GSRT_INCIDENT_FILE_BYTES_MAX (4u << 20)
#define GSRT_INCIDENT_TEXT_BYTES 160 /* one text of an incident, with its zero */

/* actors */
#define GSRT_ACTOR_COUNT_MAX 1048576       /* actors alive on one rank */
#define GSRT_TIMER_COUNT_MAX 65536         /* timers armed on one rank */
#define GSRT_CALL_COUNT_MAX 65536          /* calls open on one rank, made here or received from elsewhere */
#define GSRT_RELATION_COUNT_MAX 1048576    /* ends of monitors and links on one rank: an index of 20 bits */
#define GSRT_REFUSAL_COUNT_MAX 65536       /* actors waiting for a WRITABLE on one rank */
#define GSRT_INBOX_BYTES_MAX (256u << 20)  /* messages and payloads waiting on one rank before sends are refused */
#define GSRT_FOREIGN_COUNT_MAX 4096        /* posts of other threads waiting on one rank: each has a job behind it */
#define GSRT_STREAM_COUNT_MAX 65536        /* (sender, receiver) pairs between ranks whose sequence a rank knows */
#define GSRT_ROLE_COUNT_MAX 65536          /* roles bound in one rank's directory */
#define GSRT_PLACE_COUNT_MAX 65536         /* moved actors a rank knows the place of */
#define GSRT_HELD_COUNT_MAX 4096           /* messages that overtook others, held on one rank */
#define GSRT_HOLD_MS 1000                  /* ms a message that overtook others waits for them */
#define GSRT_PENDING_BYTES_MAX (64u << 20) /* signals and forwarded messages waiting for one peer's window */
#define GSRT_FLUSH_MS 5000                 /* ms a finishing rank waits for its sends to leave */
#define GSRT_TIMEOUT_NS_MAX (1ull << 60)   /* ns, about 36 years: the longest timer or call; sums cannot wrap */

/* faults and healing */
#define GSRT_FAULT_COUNT_MAX 256             /* faults of one scenario: looked through at each event */
#define GSRT_MOVE_COUNT_MAX 256              /* moves of one scenario, likewise */
#define GSRT_FAULT_TIMES_MAX 64              /* kills of one rank by one fault */
#define GSRT_FAULT_SIDE_COUNT_MAX 255        /* groups of one partition: a byte says which */
#define GSRT_FAULT_SECONDS_MAX 1000000       /* s, 11 days: a fault's time; doubles hold its ns exactly */
#define GSRT_FAULT_FACTOR_MAX 1000000        /* how many times slower a rank becomes */
#define GSRT_FAULT_EPOCH_MAX 1000000         /* number of the view that a fault waits for */
#define GSRT_SEED_COUNT_MAX 1000000          /* seeds of one campaign: it keeps 24 bytes of each recovery */
#define GSRT_RANK_RESTART_COUNT_MAX 64       /* next incarnations of one rank within the window */
#define GSRT_RANK_RESTART_WINDOW_S_MAX 86400 /* s, a day: that window */
#define GSRT_CONTACT_MS_MIN 10               /* ms between two pings of a member */
#define GSRT_CONTACT_MS_MAX 60000

#if GSRT_RANK_COUNT_MAX > 65535
#error "GSRT_RANK_COUNT_MAX: an actor's address holds the birth rank in 16 bits"
#endif
#if GSRT_ACTOR_COUNT_MAX > 1048576 || GSRT_RELATION_COUNT_MAX > 1048576 || GSRT_CALL_COUNT_MAX > 1048576
#error "actors, relations and calls are found by indices of 20 bits"
#endif
#if GSRT_SENDS_IN_FLIGHT_MAX >= 256
#error "GSRT_SENDS_IN_FLIGHT_MAX: past UCX's shared-memory FIFO a dead peer can leave sends pending for ever"
#endif
#if GSRT_FAULT_SIDE_COUNT_MAX > 255
#error "GSRT_FAULT_SIDE_COUNT_MAX: the side of a rank is a byte, 0 for those that no group names"
#endif
#if GSRT_GROUP_RANKS_MAX > 64
#error "GSRT_GROUP_RANKS_MAX: member sets are 64-bit masks"
#endif

#endif
