/** docs/tuned.md does what it says: its Python puts learned parameters into MiniLM, which then loses what `rfa swap` says. */
import {writeFile} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {modelDigest} from '../../src/experiments/model-digest.js'
import {runSwapCell} from '../../src/experiments/swap/measure/cell.js'
import {swapResult} from '../../src/experiments/swap/schema.js'
import {readTexts} from '../../src/inputs/texts.js'
import {readTuned, tunedSpecOf, writeTuned} from '../../src/tuned/index.js'
import {temporaryFolder} from '../helpers/folders.js'
import {exampleTuned} from '../helpers/tuned.js'
import {PYTHON, python} from './python.js'

const TEXTS = [
  'In the beginning God created the heaven and the earth.',
  'A man is eating a piece of bread while a dog looks on.',
]
const LAYERS = [0, 1, 2, 3, 4, 5]

/**
 * Hidden states of both programs agree to 1e-5 of their largest entry (test/python/model.test.ts), which is at most some 5 times
 * the root mean square of a state: relative errors of 5e-5 in an embedding and its mean over tokens, which move a cosine by
 * at most the same times the sine of the angle between the two embeddings, at most 1.
 */
const TOLERANCE = 1e-4

const folder = temporaryFolder()

describe.runIf(PYTHON)('docs/tuned.md', () => {
  beforeAll(() => useBackend('cpu'))

  it('changes a model as rfa swap does', async () => {
    const path = join(folder, 'tuned.safetensors')
    const sizes = {heads: 12, keyHeads: 12, headDim: 32, numFeatures: 64}
    await writeTuned(
      path,
      exampleTuned({...sizes, learned: 'maps,rows'}, {layers: LAYERS, draws: 1}),
    )
    const said = await python(
      [resolve('test/python/tuned.py'), resolve('docs/tuned.md'), ...TEXTS],
      folder,
    )
    const [model, loss] = said.trim().split(' ') as [string, string]
    const texts = join(folder, 'texts.txt')
    await writeFile(texts, TEXTS.join('\n'))
    const outcome = await runSwapCell({
      ...{method: 'favor-pos', preset: 'exact', options: {}, orth_sign: 'haar'},
      ...{
        projection: 'orth',
        num_features: 64,
        layers: LAYERS,
        tuned: tunedSpecOf(await readTuned(path)),
      },
      model: {folder: model, digest: await modelDigest(model)},
      texts: {path: texts, digest: (await readTexts(texts)).digest, count: TEXTS.length},
      ...{max_tokens: 64, causal: false, replicates: 1, seed: 0, backend: 'cpu'},
    })
    if (outcome.status !== 'completed') throw new Error(outcome.reason)
    const {encoder_effects} = swapResult.parse(outcome.result)
    const own = encoder_effects!.cosine_loss.mean!
    expect(own).toBeGreaterThan(0.01) // attention was exchanged
    expect(Math.abs(own - Number(loss))).toBeLessThan(TOLERANCE)
  })
})
