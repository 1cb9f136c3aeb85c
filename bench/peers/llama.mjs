// llama.mjs MODEL [THREADS...]: node-llama-cpp as its users see it, through JavaScript: prefill of 512 tokens and 32
// decoded tokens at context 512, no GPU. A cross-check of llama_peer.c, which calls the same library without JavaScript;
// the ratios in RESULTS.md are against llama_peer. Prints one JSON object with the time of every token.
import fs from "node:fs";
import {getLlama} from "node-llama-cpp";

const [path, ...counts] = process.argv.slice(2);
if (path === undefined) {
    console.error("usage: llama.mjs MODEL [THREADS...]");
    process.exit(1);
}
const prefillTokens = 512, decodeTokens = 32;
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, progressLogs: false});
const model = await llama.loadModel({modelPath: path, gpuLayers: 0});
const runs = [];
for (const threads of counts.length > 0 ? counts.map(Number) : [1, 2]) {
    const context = await model.createContext({contextSize: 1024, batchSize: prefillTokens, threads});
    const sequence = context.getSequence();
    const prompt = Array.from({length: prefillTokens}, (_, i) => 259 + i * 37 % 96);
    let begin = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(prompt);
    const prefillMs = performance.now() - begin;
    const tokenMs = [];
    begin = performance.now();
    for await (const _ of sequence.evaluate([259], {temperature: 0, yieldEogToken: true})) {
        const now = performance.now();
        tokenMs.push(now - begin);
        begin = now;
        if (tokenMs.length === decodeTokens)
            break;
    }
    const sorted = [...tokenMs].sort((a, b) => a - b);
    runs.push({
        threads: context.currentThreads,
        prefill_tokens_per_s: prefillTokens / prefillMs * 1e3,
        decode_tokens_per_s: 1e3 / sorted[Math.floor(sorted.length / 2)],
        token_ms: tokenMs.map((ms) => Number(ms.toFixed(3))),
    });
    await context.dispose();
}
const variant = fs.readFileSync("/proc/self/maps", "utf8").match(/libggml-cpu-([a-z0-9]+)/)?.[1];
console.log(JSON.stringify({engine: "llama.cpp v0.4.0 in node-llama-cpp 3.21.1", variant, system: llama.systemInfo, runs}));
process.exit(0);
