%% What Erlang/OTP does on this machine, beside which GSRT's actors are measured. Compiled by erlc, run by
%%   erl -noshell +S 1:1 -s otp main -s erlang halt
%% Prints one JSON object: medians of five runs each.
%%   round_trip_us        a message to another local process and its answer
%%   one_way_per_s        messages to a local process that only counts
%%   spawns_per_s         processes that start and end, the last one waited for
%%   restart_us           a supervised gen_server (one_for_one) is killed; until its successor has answered a call
-module(otp).
-behaviour(supervisor).
-export([main/0, init/1, start_worker/0, handle_call/3, handle_cast/2]).

-define(RUNS, 5).
-define(ROUND_TRIPS, 500000).
-define(MESSAGES, 2000000).
-define(SPAWNS, 300000).
-define(SUPERVISORS, 100).
-define(RESTARTS, 10). % of each: a supervisor looks through all restarts within its period

main() ->
    Us = fun(F, N) -> median([begin {T, _} = timer:tc(F), T / N end || _ <- lists:seq(1, ?RUNS)]) end,
    RoundTrip = Us(fun round_trips/0, ?ROUND_TRIPS),
    OneWay = Us(fun one_way/0, ?MESSAGES),
    Spawn = Us(fun spawns/0, ?SPAWNS),
    error_logger:tty(false),
    logger:set_primary_config(level, none),
    Restart = median([restarts() || _ <- lists:seq(1, ?RUNS)]),
    io:format("{\"engine\": \"Erlang/OTP ~s, erts ~s, ~s\", \"schedulers\": ~b, \"round_trip_us\": ~.4f, "
              "\"one_way_per_s\": ~b, \"spawns_per_s\": ~b, \"restart_us\": ~.2f}~n",
              [erlang:system_info(otp_release), erlang:system_info(version),
               atom_to_list(erlang:system_info(emu_flavor)), erlang:system_info(schedulers_online), RoundTrip,
               round(1.0e6 / OneWay), round(1.0e6 / Spawn), Restart]).

median(Values) ->
    lists:nth((length(Values) + 1) div 2, lists:sort(Values)).

%% ---- round trip
round_trips() ->
    Echo = spawn_link(fun echo/0),
    ping(Echo, ?ROUND_TRIPS),
    unlink(Echo),
    exit(Echo, kill).

echo() ->
    receive {From, X} -> From ! X end,
    echo().

ping(_, 0) -> ok;
ping(Echo, N) ->
    Echo ! {self(), N},
    receive N -> ok end,
    ping(Echo, N - 1).

%% ---- one way
one_way() ->
    Self = self(),
    Sink = spawn_link(fun() -> count(?MESSAGES), Self ! done end),
    send(Sink, ?MESSAGES),
    receive done -> ok end.

count(0) -> ok;
count(N) ->
    receive _ -> count(N - 1) end.

send(_, 0) -> ok;
send(Sink, N) ->
    Sink ! N,
    send(Sink, N - 1).

%% ---- spawn
spawns() ->
    Self = self(),
    spawn_many(?SPAWNS - 1),
    spawn(fun() -> Self ! done end),
    receive done -> ok end.

spawn_many(0) -> ok;
spawn_many(N) ->
    spawn(fun() -> ok end),
    spawn_many(N - 1).

%% ---- supervisor restart
restarts() ->
    lists:sum([restarts_of_one() || _ <- lists:seq(1, ?SUPERVISORS)]) / (?SUPERVISORS * ?RESTARTS).

restarts_of_one() ->
    {ok, Sup} = supervisor:start_link(?MODULE, supervisor),
    Times = [restart() || _ <- lists:seq(1, ?RESTARTS)],
    unlink(Sup),
    Monitor = monitor(process, Sup),
    exit(Sup, shutdown),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    lists:sum(Times).

restart() ->
    Old = whereis(otp_worker),
    Begin = erlang:monotonic_time(nanosecond),
    exit(Old, kill),
    until_new(Old),
    ok = gen_server:call(otp_worker, ping),
    (erlang:monotonic_time(nanosecond) - Begin) / 1000.

until_new(Old) ->
    case whereis(otp_worker) of
        undefined -> erlang:yield(), until_new(Old);
        Old -> erlang:yield(), until_new(Old);
        _ -> ok
    end.

start_worker() ->
    gen_server:start_link({local, otp_worker}, ?MODULE, worker, []).

init(supervisor) ->
    {ok, {#{strategy => one_for_one, intensity => ?RESTARTS, period => 3600},
          [#{id => worker, start => {?MODULE, start_worker, []}}]}};
init(worker) ->
    {ok, none}.

handle_call(_, _, State) -> {reply, ok, State}.
handle_cast(_, State) -> {noreply, State}.
