import {writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {modelDigest, readTexts} from '../../../../../src/experiments/swap/files.js'
import {runSwapCell} from '../../../../../src/experiments/swap/measure/cell.js'
import {type SwapCell, swapResult} from '../../../../../src/experiments/swap/schema.js'
import {packagedFile} from '../../../../../src/inputs/packaged.js'
import {openModel} from '../../../../../src/model/index.js'
import {temporaryFolder} from '../../../../helpers/folders.js'
import {modelFolder, WORDS} from '../../../../helpers/model-folders.js'

const folder = temporaryFolder()

async function cellOf(
  method: string,
  {model = packagedFile('charlm'), texts = [] as readonly string[], M = null as number | null} = {},
): Promise<SwapCell> {
  const path = texts.length > 0 ? join(folder, `${texts.join('').length}.txt`) : undefined
  if (path) await writeFile(path, texts.join('\n'))
  const read = path ?? packagedFile('charlm/texts.txt')
  const {layers, causal} = (await openModel(model)).facts
  return {
    ...{method, preset: 'exact', options: {}, orth_sign: 'haar', causal, max_tokens: 40},
    ...{projection: M === null ? null : 'orth', num_features: M},
    layers: Array.from({length: layers}, (_, layer) => layer),
    model: {folder: model, digest: await modelDigest(model)},
    texts: {path: read, digest: (await readTexts(read)).digest, count: texts.length || 3},
    ...{replicates: M === null ? 1 : 2, seed: 0, backend: 'cpu'},
  }
}

async function resultOf(cell: SwapCell) {
  const outcome = await runSwapCell(cell)
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return swapResult.parse(outcome.result)
}

describe('a swap', () => {
  it('of attention for itself loses nothing, and of the mean of V much', async () => {
    const exact = await resultOf(await cellOf('softmax'))
    const mean = await resultOf(await cellOf('mean-value'))
    expect(Math.abs(exact.causal_effects!.nats_added.mean!)).toBeLessThan(1e-4)
    expect(exact.causal_effects!.top_agreement.mean).toBe(1)
    expect(exact.hidden_error.every(error => error! < 1e-4)).toBe(true)
    expect(mean.causal_effects!.nats_added.low).toBeGreaterThan(0.3)
    expect(mean.hidden_error.at(-1)).toBeGreaterThan(0.3)
    expect(mean.original_nats).toBe(exact.original_nats)
  })

  it('leaves what comes before the first exchanged layer', async () => {
    const result = await resultOf({...(await cellOf('elu')), layers: [2]})
    expect(result.hidden_error.slice(0, 2)).toEqual([0, 0])
    expect(result.hidden_error[2]).toBeGreaterThan(0)
  })

  it('refuses another model, other texts, and a text of one token', async () => {
    const cell = await cellOf('elu')
    for (const name of ['model', 'texts'] as const) {
      const other = {...cell, [name]: {...cell[name], digest: 'other'}}
      await expect(runSwapCell(other)).rejects.toMatchObject({code: 'FILE_CHANGED'})
    }
    const single = await cellOf('elu', {texts: ['And he said', 'A']})
    await expect(runSwapCell(single)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringContaining('text 2'),
    })
  })

  it('of an encoder on few texts says nothing of neighbours, which could be no others', async () => {
    const model = await modelFolder('bert')
    const effects = async (count: number) => {
      const texts = Array.from({length: count}, (_, at) => `${WORDS[at]} ${WORDS[at + 1]}`)
      return (await resultOf(await cellOf('elu', {model, texts}))).encoder_effects!
    }
    expect((await effects(2)).neighbour_agreement.mean).toBeNull()
    const three = await effects(3)
    expect(three.neighbour_agreement.mean).not.toBeNull()
    expect(three.ten_nearest_kept.mean).toBeNull()
  })
})
