/** Cells of swaps: all layers of the packaged model, or of another one. */
import {writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {modelDigest} from '../../src/experiments/model-digest.js'
import type {SwapCell} from '../../src/experiments/swap/schema.js'
import {packagedFile} from '../../src/inputs/packaged.js'
import {readTexts} from '../../src/inputs/texts.js'
import {openModel} from '../../src/model/index.js'
import {newFolder} from './folders.js'

/** What differs from the packaged model, and its first texts, with a method of no random vectors. */
interface Other {
  model?: string
  /** Texts in place of those of the package. */
  texts?: readonly string[]
  /** How many of the texts of the package. Default: 3. */
  count?: number
  M?: number | null
  budget?: number
}

/** A cell with texts cut to 40 tokens. */
export async function swapCellOf(
  method: string,
  {model = packagedFile('charlm'), texts, count = texts?.length ?? 3, M = null, budget}: Other = {},
): Promise<SwapCell> {
  const path = texts ? join(await newFolder(), 'texts.txt') : packagedFile('charlm/texts.txt')
  if (texts) await writeFile(path, texts.join('\n'))
  const {layers, causal} = (await openModel(model)).facts
  return {
    ...{method, preset: 'exact', options: {}, orth_sign: 'haar', causal, max_tokens: 40},
    ...{projection: M === null ? null : 'orth', num_features: M},
    layers: Array.from({length: layers}, (_, layer) => layer),
    model: {folder: model, digest: await modelDigest(model)},
    texts: {path, digest: (await readTexts(path)).digest, count},
    ...{replicates: M === null ? 1 : 2, seed: 0, backend: 'wasm'},
    ...(budget !== undefined && {budget}),
  }
}
