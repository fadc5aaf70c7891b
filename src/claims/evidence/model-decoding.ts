/** Decodes of a whole decoder, with attention exchanged in its layer, as claims about generation read them. */
import {copyFile, mkdir} from 'node:fs/promises'
import {join} from 'node:path'
import type {ConditionAnswer} from '../../answers/index.js'
import type {BenchPlan} from '../../experiments/bench/schema.js'
import {modelDigest} from '../../experiments/model-digest.js'
import {writeAtomic} from '../../files.js'
import {writeArrays} from '../../inputs/files/index.js'
import {packagedFile} from '../../inputs/packaged.js'
import {normals, randomStream} from '../../random/index.js'
import {type FollowRequest, IN_DECODER, type Quantity} from '../claim.js'
import type {ClaimRuns} from '../runs.js'
import {decodePlanOf, HEADS, speedUps, TOKENS} from './decoding.js'
import {ratiosText} from './times.js'

/** The run of all claims about decoding by a whole model. */
const MODEL_DECODE = 'model-decode'

/** A layer of the base Transformer of Vaswani et al. 2017: layers of one size take the same time each. */
const [WIDTH, INNER, POSITIONS] = [512, 2048, TOKENS.long]
/** Characters of the tokenizer of the packaged model. */
const VOCABULARY = 64

/** What is timed, for `ours` of claims. */
export const MODEL_OURS = `and a whole decoder around it: one layer of width ${WIDTH} with random weights and a vocabulary of ${VOCABULARY} tokens (one of some 32,000 would add to both times)`

const TIMING = {
  quick: {processes: 3, warmup_runs: 0, min_runs: 3, max_runs: 3, min_time_ns: 0},
  full: {processes: 5, warmup_runs: 1, min_runs: 15, max_runs: 60, min_time_ns: 4e9},
}

/** The run, once the others are there: its model is written below the folder of all runs. */
export async function modelDecodeRun(
  runs: ClaimRuns,
  request: FollowRequest,
): Promise<Record<string, BenchPlan>> {
  if (runs.has(MODEL_DECODE)) return {}
  const folder = join(request.directory, `${MODEL_DECODE}-inputs`)
  await writeDecoder(folder, request.seed)
  const lengths = [...TOKENS.sentences, TOKENS.text, TOKENS.long]
  const plan = decodePlanOf(['softmax', 'rfa'], lengths, request)
  const model = {folder, digest: await modelDigest(folder)}
  return {[MODEL_DECODE]: {...plan, model, layers: [0], timing: TIMING[request.effort]}}
}

/** What a claim says of the decoder next to the attention alone: its verdict does not rest on it. @throws as {@link speedUps} */
export function inDecoder(
  runs: ClaimRuns,
  lengths: readonly number[],
): {quantities: Quantity[]; text: string} {
  const rows = speedUps(runs.times, runs.timed(MODEL_DECODE), 'rfa', lengths)
  const told = rows.map((): ConditionAnswer => 'yes')
  return {
    quantities: rows.map(({length, ratio}) => ({
      name: `time of a decoder over that with RFA, to ${length} tokens`,
      ...ratio,
    })),
    text: `${IN_DECODER}${ratiosText(rows, told)}`,
  }
}

/** Arrays of a GPT-2-like model of one layer. */
const SHAPES: Record<string, number[]> = {
  'wte.weight': [VOCABULARY, WIDTH],
  'wpe.weight': [POSITIONS, WIDTH],
  'h.0.ln_1.weight': [WIDTH],
  'h.0.ln_1.bias': [WIDTH],
  'h.0.attn.c_attn.weight': [WIDTH, 3 * WIDTH],
  'h.0.attn.c_attn.bias': [3 * WIDTH],
  'h.0.attn.c_proj.weight': [WIDTH, WIDTH],
  'h.0.attn.c_proj.bias': [WIDTH],
  'h.0.ln_2.weight': [WIDTH],
  'h.0.ln_2.bias': [WIDTH],
  'h.0.mlp.c_fc.weight': [WIDTH, INNER],
  'h.0.mlp.c_fc.bias': [INNER],
  'h.0.mlp.c_proj.weight': [INNER, WIDTH],
  'h.0.mlp.c_proj.bias': [WIDTH],
  'ln_f.weight': [WIDTH],
  'ln_f.bias': [WIDTH],
}

async function writeDecoder(folder: string, seed: number): Promise<void> {
  const stream = randomStream(seed, 'claims.decoder')
  const drawn = (length: number) => normals(stream, length).map(value => 0.02 * value)
  const arrays = Object.entries(SHAPES).map(([name, shape]) => {
    const [rows = 0, columns] = shape
    const isScale = columns === undefined && name.endsWith('weight')
    const values = columns === undefined ? new Float32Array(rows) : drawn(rows * columns)
    const data = isScale ? new Float32Array(rows).fill(1) : Float32Array.from(values)
    return [name, {shape, dtype: 'float32' as const, data}] as const
  })
  const config = {
    ...{model_type: 'gpt2', n_embd: WIDTH, n_inner: INNER, n_head: HEADS, n_layer: 1},
    ...{n_positions: POSITIONS, vocab_size: VOCABULARY},
  }
  await mkdir(folder, {recursive: true})
  await writeArrays(join(folder, 'model.safetensors'), Object.fromEntries(arrays))
  await writeAtomic(join(folder, 'config.json'), JSON.stringify(config))
  await copyFile(join(packagedFile('charlm'), 'tokenizer.json'), join(folder, 'tokenizer.json'))
}
