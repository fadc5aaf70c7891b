/**
 * `rfa.torch.use(model, tuned=...)` changes hidden states as `rfa swap --tuned` does: MiniLM by the Python of docs/tuned.md, the packaged model of characters, and
 * small models of random weights.
 */
import {writeFile} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {modelDigest} from '../../src/experiments/model-digest.js'
import {runSwapCell} from '../../src/experiments/swap/measure/cell.js'
import {swapResult} from '../../src/experiments/swap/schema.js'
import {readTexts} from '../../src/inputs/texts.js'
import {readTuned, type Tuned, tunedSpecOf, writeTuned} from '../../src/tuned/index.js'
import {temporaryFolder} from '../helpers/folders.js'
import {exampleTuned} from '../helpers/tuned.js'
import {PYTHON, python} from './python.js'

const TEXTS = [
  'In the beginning God created the heaven and the earth.',
  'A man is eating a piece of bread while a dog looks on.',
]
const MAPS = 'maps' as const
const ROWS = 'maps,rows' as const

interface Case {
  name: string
  layers: number[]
  facts: Partial<Omit<Tuned, 'layers'>>
}

/** Maps with drawn random vectors, learned ones, or none; all layers, or some; as many heads of keys, or fewer. */
const CASES: Case[] = [
  {
    name: 'minilm',
    layers: [0, 1, 2, 3, 4, 5],
    facts: {heads: 12, keyHeads: 12, headDim: 32, numFeatures: 64, learned: ROWS},
  },
  {
    name: 'charlm',
    layers: [0, 1, 2, 3],
    facts: {
      ...{method: 'hedgehog', projection: null, numFeatures: null},
      ...{heads: 4, keyHeads: 4, headDim: 32, learned: MAPS, causal: true},
    },
  },
  {
    name: 'bert',
    layers: [1, 2],
    facts: {heads: 6, keyHeads: 6, headDim: 10, numFeatures: 16, learned: MAPS, projection: 'iid'},
  },
  {
    name: 'llama',
    layers: [0, 2],
    facts: {heads: 6, keyHeads: 2, headDim: 10, numFeatures: 16, learned: ROWS, causal: true},
  },
]

/**
 * Hidden states of both programs agree to 1e-5 of their largest entry (test/python/model.test.ts), which is at most some 5 times
 * the root mean square of a state: the difference of two states is that of their relative errors, 5e-5 each, and their ratio to a state.
 */
const TOLERANCE = 1e-4

const folder = temporaryFolder()

describe.runIf(PYTHON)('learned parameters in rfa.torch', () => {
  const texts = join(folder, 'texts.txt')
  const fileOf = (name: string) =>
    join(folder, name === 'minilm' ? 'tuned.safetensors' : `${name}.tuned.safetensors`)
  /** The folder of each model, and the error that Python finds. */
  let said: [model: string, error: number][]

  beforeAll(async () => {
    await useBackend('cpu')
    await python([resolve('test/python/models.py'), folder, 'bert', 'llama'])
    await writeFile(texts, TEXTS.join('\n'))
    for (const {name, layers, facts} of CASES) {
      await writeTuned(fileOf(name), exampleTuned(facts, {layers, draws: 1}))
    }
    const names = CASES.map(({name}) => name)
    const argv = [resolve('test/python/tuned.py'), resolve('docs/tuned.md'), texts, ...names]
    said = (await python(argv, folder))
      .trim()
      .split('\n')
      .map(line => line.split(' ') as [string, string])
      .map(([model, error]) => [model, Number(error)])
  }, 600_000)

  it.each(CASES)('change $name as rfa swap does', async ({name, layers, facts}) => {
    const [model, error] = said[CASES.findIndex(own => own.name === name)]!
    const outcome = await runSwapCell({
      ...{method: 'favor-pos', preset: 'exact', options: {}, orth_sign: 'haar', layers},
      ...(facts.method && {method: facts.method}),
      projection: facts.projection === undefined ? 'orth' : facts.projection,
      num_features: facts.numFeatures!,
      tuned: tunedSpecOf(await readTuned(fileOf(name))),
      model: {folder: model, digest: await modelDigest(model)},
      texts: {path: texts, digest: (await readTexts(texts)).digest, count: TEXTS.length},
      ...{max_tokens: 30, causal: facts.causal ?? false, replicates: 1, seed: 0, backend: 'cpu'},
    })
    if (outcome.status !== 'completed') throw new Error(outcome.reason)
    const own = swapResult.parse(outcome.result).hidden_error.at(-1)!
    expect(own).toBeGreaterThan(0.01) // attention was exchanged
    expect(Math.abs(own - error)).toBeLessThan(TOLERANCE)
  })
})
