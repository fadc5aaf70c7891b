import {existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi} from 'vitest'
import {runTrainCell} from '../../../../../src/experiments/train/measure/cell.js'
import {type TrainCell, trainResult} from '../../../../../src/experiments/train/schema.js'
import {trainCellOf} from '../../../../helpers/train-records.js'

const folder = mkdtempSync(join(tmpdir(), 'rfa-checkpoint-'))
afterAll(() => rmSync(folder, {recursive: true}))

// a state is kept after every step
beforeEach(() => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 40_000
    return now
  })
})
afterEach(() => vi.restoreAllMocks())

/** Two layers, whose random vectors change on the way, at a step that is no look. */
const CELL: Partial<TrainCell> = {
  ...{method: 'favor-pos', projection: 'orth', num_features: 8, redraw: 7, steps: 38, held_out: 6},
  model: {layers: 2, width: 8, heads: 2, mlp: 8, convolution: 3, positions: true},
}

/** Everything but time. */
async function found(checkpoint?: string, changes: Partial<TrainCell> = {}, until = Infinity) {
  const onStep = (step: number) => {
    if (step >= until) throw new Error('interrupted')
  }
  const how = {threadShare: 1, onStep, checkpoint}
  const outcome = await runTrainCell(trainCellOf({...CELL, ...changes}), how)
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  const {curve, cpu_seconds: _, ...rest} = trainResult.parse(outcome.result)
  return {...rest, curve: curve.map(({cpu_seconds: _, ...point}) => point)}
}

describe('a run that keeps how far it is', () => {
  let whole: Awaited<ReturnType<typeof found>>
  beforeAll(async () => {
    whole = await found()
  })

  it('goes on from there with the numbers of a run that was not interrupted', async () => {
    const path = join(folder, 'kept', 'a.safetensors')
    for (const until of [10, 22]) {
      await expect(found(path, {}, until)).rejects.toThrow('interrupted')
      expect(readdirSync(join(folder, 'kept'))).toEqual(['a.safetensors'])
    }
    const steps: number[] = []
    const how = {threadShare: 1, checkpoint: path, onStep: (step: number) => steps.push(step)}
    await runTrainCell(trainCellOf(CELL), how)
    expect(steps[0]).toBeGreaterThan(20) // earlier ones were not taken again
    await expect(found(path, {}, 22)).resolves.toEqual(whole) // all are taken
  })

  it('begins anew where what is there is no state of its weights', async () => {
    const path = join(folder, 'kept', 'b.safetensors')
    mkdirSync(join(folder, 'kept'), {recursive: true})
    writeFileSync(path, 'cut')
    expect(await found(path)).toEqual(whole)
    const other = found(path, {model: {...trainCellOf(CELL).model, width: 4}}, 3)
    await expect(other).rejects.toThrow('interrupted')
    expect(await found(path)).toEqual(whole)
  })

  it('trains all the same where nothing can be kept', async () => {
    const path = join(folder, 'none', 'of', 'these', 'c.safetensors')
    expect(await found(path)).toEqual(whole)
    expect(existsSync(join(folder, 'none'))).toBe(false)
  })
})
