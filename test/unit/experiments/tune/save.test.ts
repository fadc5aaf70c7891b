import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {tunedLines} from '../../../../src/cli/run/tuned-file.js'
import {runSwapCell} from '../../../../src/experiments/swap/measure/cell.js'
import tune from '../../../../src/experiments/tune/index.js'
import {runTuneCell} from '../../../../src/experiments/tune/measure/cell.js'
import {saveTuned} from '../../../../src/experiments/tune/save.js'
import {
  type CompletedTune,
  type TuneCell,
  tuneResult,
} from '../../../../src/experiments/tune/schema.js'
import {exportLayers} from '../../../../src/export/export.js'
import {packagedFile} from '../../../../src/inputs/packaged.js'
import type {ExperimentRun} from '../../../../src/runner/folder/finished-run.js'
import {readTuned, tunedSpecOf} from '../../../../src/tuned/index.js'
import {newFolder} from '../../../helpers/folders.js'
import {swapCellOf} from '../../../helpers/swap-cells.js'

const [MODEL, LAYER] = [packagedFile('charlm'), 2]

async function exported(): Promise<{folder: string; file: string}> {
  const folder = await newFolder()
  const request = {model: MODEL, texts: packagedFile('charlm/texts.txt'), output: folder}
  const sizes = {maxTexts: 6, maxTokens: 24, layers: [LAYER], threads: undefined}
  await exportLayers({...request, ...sizes, force: false, backend: 'auto'})
  return {folder, file: join(folder, `layer${LAYER}.safetensors`)}
}

async function tunedRecord(file: string, changes: Partial<TuneCell> = {}): Promise<CompletedTune> {
  const cell: TuneCell = {
    ...{method: 'favor-pos', preset: 'exact', options: {}},
    ...{projection: 'orth', orth_sign: 'haar', num_features: 8, draw: null},
    input: {kind: 'file', paths: [file], names: {query: 'q', key: 'k', value: 'v'}},
    ...{learn: 'maps', steps: 2, learning_rate: 0.01, held_out: 0.4, draws: 2},
    ...{causal: true, seed: 0, backend: 'auto'},
    ...changes,
  }
  const outcome = await runTuneCell(cell)
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  const result = tuneResult.parse(outcome.result)
  return {schema: tune.schema, key: 'a', status: 'completed', cell, result} as CompletedTune
}

describe('what is learned of an exported layer', () => {
  it('is written for that layer of that model, and the next command is of both', async () => {
    const {folder, file} = await exported()
    const record = await tunedRecord(file)
    const directory = join(folder, 'learned')
    await saveTuned([record], directory)
    const tuned = await readTuned(`${directory}.safetensors`)
    expect(tuned.layers.map(({layer}) => layer)).toEqual([LAYER])
    expect(tuned.model).toBe('charlm')
    const run = {directory, records: [record]} as unknown as ExperimentRun
    const next = tunedLines(run, 'rfa').at(-1)!
    expect(next).toBe(`next: rfa swap --model ${MODEL} --tuned ${directory}.safetensors`)
    // as the words say: this model, and the layers of this file
    const words = next.split(' ')
    const model = words[words.indexOf('--model') + 1]!
    const cell = await swapCellOf('favor-pos', {model, M: 8, count: 2})
    const layers = tuned.layers.map(({layer}) => layer!)
    const outcome = await runSwapCell({...cell, layers, tuned: tunedSpecOf(tuned)})
    expect(outcome.status).toBe('completed')
  })

  it('of an input that names no model is tried on that input', async () => {
    const {folder, file} = await exported()
    const record = await tunedRecord(file)
    const {input_origin: _, ...result} = record.result
    const silent = {...record, result: tuneResult.parse(result)}
    const run = {directory: join(folder, 'own'), records: [silent]} as unknown as ExperimentRun
    const [, next] = tunedLines(run, 'rfa')
    expect(next).toBe(
      `next: rfa error-sweep --input ${file} --parameters ${join(folder, 'own.safetensors')}`,
    )
    await saveTuned([silent], join(folder, 'own'))
    const tuned = await readTuned(join(folder, 'own.safetensors'))
    expect([tuned.layers[0]!.layer, tuned.model]).toEqual([undefined, null])
  })

  it('scores a zero output as 100 % and averages of V as they are, in every text', async () => {
    const {file} = await exported()
    const {result} = await tunedRecord(file)
    const of = (variant: string) => result.errors.filter(one => one.variant === variant)
    for (const zero of of('zero')) {
      expect([zero.rel_l2, ...zero.per_head, ...zero.per_text].every(error => error === 1)).toBe(
        true,
      )
    }
    const [average] = of('mean_value')
    expect(average!.rel_l2).toBeGreaterThan(0.05)
    // texts by their weights make the error of all
    for (const {rel_l2, per_text} of result.errors) {
      const square = per_text.reduce<number>(
        (sum, error, text) => sum + result.text_weights[text]! * error! ** 2,
        0,
      )
      expect(Math.sqrt(square)).toMatchReference(rel_l2!, 5)
    }
  })
})
