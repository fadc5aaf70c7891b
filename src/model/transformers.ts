/** Models that Transformers runs, see `python/rfa_model.py`: a process for each that is open. */
import {join} from 'node:path'
import {z} from 'zod'
import {expected, type RfaError} from '../errors.js'
import {packageRoot} from '../package.js'
import {type Ask, startPython} from '../plugins/python/asking.js'
import type {ChildCommand} from '../plugins/python/conversation.js'
import {pythonPath} from '../python-path.js'
import {parseWith} from '../results/journal/parse-record.js'
import {readJson} from './json.js'
import {batchesOf} from './tokenizer.js'
import type {ModelShape, TokenBatch, TokenizedTexts} from './types.js'

/** Loading a model from a slow disk, and the longest batch. */
const PATIENCE_MS = 1_800_000
/** Texts that are tokenised at once: an answer is one line. */
const TEXTS = 64

const engine = z.object({
  packages: z.object({torch: z.string(), transformers: z.string()}),
  python: z.string(),
  /** With its name, and its kind by itself. */
  device: z.string(),
  device_kind: z.enum(['cpu', 'cuda', 'mps']),
  /** Names of options by method. */
  methods: z.record(z.string(), z.array(z.string())),
  projections: z.array(z.string()),
})
type TransformersFacts = z.infer<typeof engine>

const count = z.int().positive()
const opened = z.object({
  ...{kind: z.string(), causal: z.boolean(), scale: z.number()},
  ...{layers: count, heads: count, key_heads: count, head_dim: count, width: count},
  ...{max_tokens: count, parameters: count},
  /** 0: the model reads no tokens. */
  vocabulary: z.int().nonnegative(),
  /** Whether it predicts classes. */
  classes: z.boolean(),
  /** Rows of the file of arrays. */
  items: count.nullable(),
})
const itemLengths = z.object({lengths: z.array(count)})
const tokenized = z.object({rows: z.array(z.array(z.int().nonnegative()))})
const runTimes = z.object({ns: z.array(z.number().positive()).min(1)})
const gateAnswer = z.object({error: z.number(), largest: z.number()})
const arrays = z.object({data: z.instanceof(Uint8Array)})

interface Exchange {
  layers: readonly number[]
  draws: number
  method: {
    name: string
    /** As `rfa.torch` calls them. */
    options: Readonly<Record<string, unknown>>
    seed: number
    /** Queries are multiplied by it, and logits divided. */
    factor: number
    /** Whether random arrays are those of the first text of a batch for each. */
    text_by_text: boolean
    /** File of learned parameters. */
    tuned?: string | undefined
  }
}

/** What a forward pass has for attention in some layers; no method: its own. */
interface Asked {
  layers: readonly number[]
  method: Pick<Exchange['method'], 'name' | 'options' | 'seed'> | null
}

/** A model of Transformers in its process. */
export interface TransformersModel {
  readonly facts: Omit<ModelShape, 'window'> & {kind: string; classes: boolean}
  /** How many it can read of its file of arrays; `null`: it reads texts. */
  readonly count: number | null
  readonly parameters: number
  /** Of its process. */
  readonly pid: number
  readonly engine: TransformersFacts
  /** As `Model.tokenize`; special tokens stay where a text is cut. */
  tokenize(
    texts: readonly string[],
    options: {maxTokens: number; least: number},
  ): Promise<TokenizedTexts>
  /** The same of the first rows of the file of arrays; ids are with Python. @param least - positions of a row */
  items(count: number, least: number): Promise<TokenizedTexts>
  /** @throws {UNSUPPORTED} for a text so long that not every token is seen: by a window, say */
  check(length: number): Promise<void>
  /**
   * Runs the original on a batch.
   *
   * @param at - its number
   * @param rows - its texts, as `order` has them
   * @returns what the script says, one array after the other
   */
  original(at: number, batch: TokenBatch, rows: readonly number[]): Promise<Float64Array>
  /** `q` `[B, H, L, D]`, `k` and `v` `[B, Hkv, L, D]` of a layer, one after the other, on a batch that the original has run. */
  captured(at: number, layer: number): Promise<Float64Array>
  /** The matrix `[H D, W]` after attention; empty where more than a matrix stands there. */
  output(layer: number): Promise<Float64Array>
  /** Times of forward passes as users run them, in ns: at least one, at most `runs`, no new one after `ns`. */
  time(batch: TokenBatch, asked: Asked, budget: {runs: number; ns: number}): Promise<number[]>
  /** How far outputs of these are from those of `exchanged`, and their largest entry. */
  gate(batch: TokenBatch, asked: Asked): Promise<{error: number; largest: number}>
  /** Runs a batch that the original has run, with attention exchanged. */
  exchanged(at: number, exchange: Exchange): Promise<Float64Array>
  close(): void
}

export interface TransformersOptions {
  threads?: number | undefined
  changed?: string | undefined
  timed?: boolean | undefined
  inputs?: string | undefined
  /** `auto`: a graphics processor where there is one. */
  device?: 'cpu' | 'cuda' | 'mps' | 'auto' | undefined
}

/**
 * Opens a model.
 *
 * @param threads - that it computes with
 * @param changed - folder of a model of the same layers: what is exchanged in place of the model itself
 * @param timed - whether `time` and `gate` are asked for. Default: they are not
 * @param inputs - file of arrays that it reads; absent: texts
 * @param device - of PyTorch. Default: the processor
 * @throws {BAD_FILE} for a file of something else
 * @throws {BACKEND_MISSING} without Python, PyTorch or Transformers
 * @throws {UNSUPPORTED} for a model with attention of another kind, by its name
 */
export async function openTransformers(
  folder: string,
  {threads = 1, changed, timed, inputs, device = 'cpu'}: TransformersOptions = {},
): Promise<TransformersModel> {
  await refuseByName(folder, inputs !== undefined)
  const command = commandOf(threads, device)
  const {talk, pid, facts, ask} = await startPython(command, engine, {
    missing: why => missing(command, why, device),
  })
  try {
    const found = await ask({do: 'open', folder, inputs, timed}, opened)
    if (changed !== undefined) await ask({do: 'change', folder: changed, inputs}, opened)
    return modelOf({ask, pid, engine: facts, stop: talk.stop}, found)
  } catch (error) {
    talk.stop()
    throw error
  }
}

function modelOf(
  {
    ask,
    pid,
    engine,
    stop,
  }: {ask: Ask; stop: () => void} & Pick<TransformersModel, 'pid' | 'engine'>,
  {
    key_heads: keyHeads,
    head_dim: headDim,
    max_tokens: maxTokens,
    parameters,
    items: count,
    ...rest
  }: z.infer<typeof opened>,
): TransformersModel {
  /** Rows of the file of arrays. */
  let longEnough: number[] = []
  return {
    facts: {...rest, keyHeads, headDim, maxTokens},
    parameters,
    count,
    ...{pid, engine},
    async tokenize(texts, {maxTokens: longest, least}) {
      const rows: number[][] = []
      for (let at = 0; at < texts.length; at += TEXTS) {
        const request = {do: 'tokenize', texts: texts.slice(at, at + TEXTS), max_tokens: longest}
        rows.push(...(await ask(request, tokenized)).rows)
      }
      return batchesOf(rows, least)
    },
    async items(most, least) {
      const {lengths} = await ask({do: 'lengths', count: most}, itemLengths)
      longEnough = lengths.flatMap((length, item) => (length < least ? [] : [item]))
      const tokens = lengths.map(length => Array<number>(length).fill(0))
      return batchesOf(tokens, least)
    },
    async check(length) {
      await ask({do: 'check', length}, z.object({length: z.literal(length)}))
    },
    async original(at, {ids, lengths}, rows) {
      if (count !== null) {
        const items = rows.map(row => longEnough[row]!)
        return numbersOf(await ask({do: 'original', batch: at, lengths, items}, arrays))
      }
      const data = bytesOf(ids)
      const request = {do: 'original', batch: at, lengths, bytes: data.length}
      return numbersOf(await ask(request, arrays, [data]))
    },
    async captured(at, layer) {
      return numbersOf(await ask({do: 'capture', batch: at, layer}, arrays))
    },
    async output(layer) {
      return numbersOf(await ask({do: 'output', layer}, arrays))
    },
    async time({ids, lengths}, asked, budget) {
      const data = bytesOf(ids)
      const request = {do: 'time', ...asked, ...budget, lengths, bytes: data.length}
      return (await ask(request, runTimes, [data])).ns
    },
    async gate({ids, lengths}, asked) {
      const data = bytesOf(ids)
      return ask({do: 'gate', ...asked, lengths, bytes: data.length}, gateAnswer, [data])
    },
    async exchanged(at, exchange) {
      return numbersOf(await ask({do: 'exchanged', batch: at, ...exchange}, arrays))
    },
    close: stop,
  }
}

function bytesOf({buffer, byteOffset, byteLength}: Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

function numbersOf({data}: z.infer<typeof arrays>): Float64Array {
  return new Float64Array(Uint8Array.from(data).buffer)
}

function commandOf(threads: number, device: string): ChildCommand {
  const script = join(packageRoot(), 'python', 'rfa_model.py')
  const own = {OMP_NUM_THREADS: String(threads)}
  return {
    name: 'the transformers engine',
    command: pythonPath(),
    args: [script, '--threads', String(threads), '--device', device],
    env: {...process.env, ...own},
    patience: PATIENCE_MS,
  }
}

/** What makes an attention that features cannot hold, by keys of configurations. */
const CONFIG = z.looseObject({
  model_type: z.string().nullish(),
  is_encoder_decoder: z.boolean().nullish(),
  attn_logit_softcapping: z.number().nullish(),
  alibi: z.boolean().nullish(),
  relative_attention: z.boolean().nullish(),
  relative_attention_num_buckets: z.number().nullish(),
  position_embedding_type: z.string().nullish(),
})
const SINKS = /^gpt_oss/
const BIASED = /^(bloom|mpt)$/

/** Refuses what a configuration alone shows, before Python is asked. @throws {UNSUPPORTED} */
async function refuseByName(folder: string, arrays: boolean): Promise<void> {
  const file = join(folder, 'config.json')
  const json = await readJson(file, 'give a folder that `save_pretrained` of Transformers wrote')
  const config = parseWith(CONFIG, json, file, 'the configuration of a model')
  const type = config.model_type ?? 'a model'
  const biased =
    config.alibi ||
    config.relative_attention ||
    (config.relative_attention_num_buckets ?? 0) > 0 ||
    /relative|alibi/.test(config.position_embedding_type ?? '') ||
    BIASED.test(type)
  const why =
    config.is_encoder_decoder && !arrays
      ? 'an encoder with a decoder'
      : (config.attn_logit_softcapping ?? 0) > 0
        ? 'a cap on the logits of attention (attn_logit_softcapping)'
        : SINKS.test(type)
          ? 'attention sinks'
          : biased
            ? 'position biases on the logits of attention'
            : undefined
  if (!why) return
  const what = 'attention by queries, keys and values alone'
  const tries = config.is_encoder_decoder ? ['--inputs FILE.npz runs its encoder on arrays'] : []
  throw expected('UNSUPPORTED', file, what, `${type} with ${why}`, ...tries)
}

function missing({name, command}: ChildCommand, why: string, device: string): RfaError {
  const another = device === 'cpu' ? [] : ['--device auto takes what there is']
  const what = 'a Python with PyTorch and Transformers'
  const remedies = [
    ...another,
    'pip install torch transformers',
    'RFA_PYTHON=PATH names the Python of an environment that has them',
  ]
  return expected('BACKEND_MISSING', name, what, `${command}: ${why}`, ...remedies)
}
