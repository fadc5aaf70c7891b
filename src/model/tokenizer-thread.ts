/**
 * Texts as ids, by the tokenizer of a folder in a thread of its own: regular expressions and replacements of strangers may never end,
 * or take more memory than there is.
 */
import {createRequire} from 'node:module'
import {Worker} from 'node:worker_threads'
import {messageOf} from '../errors.js'

export interface TokenizerJob {
  /** Contents of `tokenizer.json` and `tokenizer_config.json`. */
  json: object
  config: object
  texts: readonly string[]
  /** Of longer texts the ids without special tokens are given, too. */
  maxTokens: number
  /** Time that the tokenizer has to be made, and then for each text. */
  limitMs: number
}

/** Ids of a text, and without special tokens where it is too long; or what went wrong. */
export type EncodedText = {ids: unknown[]; plain?: unknown[]} | {fault: string}

/** Ids of all texts; or why there are none: at which text, from 0, where the tokenizer itself could be made. */
export type TokenizerEnd = {rows: EncodedText[]} | {fault: string; text?: number}

/** Megabytes of objects: a vocabulary of 262,144 tokens takes some 400. */
const MOST_MEGABYTES = 2048

/** What the thread runs: a text, as it is bundled, compiled or read from TypeScript. It counts what it has begun. */
const CODE = `
const {parentPort, workerData} = require('node:worker_threads')
const {path, json, config, texts, maxTokens, begun} = workerData
const {Tokenizer} = require(path)
const tokenizer = new Tokenizer(json, config)
const encoded = text => {
  Atomics.add(begun, 0, 1)
  try {
    const {ids} = tokenizer.encode(text)
    if (ids.length <= maxTokens) return {ids}
    return {ids, plain: tokenizer.encode(text, {add_special_tokens: false}).ids}
  } catch (error) {
    return {fault: String(error && error.message)}
  }
}
parentPort.postMessage(texts.map(encoded))
`

export async function runTokenizer({limitMs, ...job}: TokenizerJob): Promise<TokenizerEnd> {
  const begun = new Int32Array(new SharedArrayBuffer(4))
  const path = createRequire(import.meta.url).resolve('@huggingface/tokenizers')
  const text = () => ({...(begun[0]! > 0 && {text: begun[0]! - 1})})
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  try {
    const thread = new Worker(CODE, {
      ...{eval: true, execArgv: [], workerData: {...job, path, begun}},
      resourceLimits: {maxOldGenerationSizeMb: MOST_MEGABYTES},
    })
    worker = thread
    return await new Promise<TokenizerEnd>((resolve, reject) => {
      let before = -1
      timer = setInterval(() => {
        if (begun[0] === before)
          resolve({fault: `nothing within ${Math.round(limitMs / 1000)} s`, ...text()})
        before = begun[0]!
      }, limitMs)
      thread.once('message', (rows: EncodedText[]) => resolve({rows}))
      thread.once('error', reject)
    })
  } catch (error) {
    return {fault: messageOf(error), ...text()}
  } finally {
    clearInterval(timer)
    await worker?.terminate()
  }
}
