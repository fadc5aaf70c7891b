import {existsSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import type {ClaimVerdict, FollowRequest} from '../../../../src/claims/claim.js'
import {outcomes} from '../../../../src/claims/outcome.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import {swapGrid} from '../../../../src/experiments/swap/grid.js'
import type {SwapPlan} from '../../../../src/experiments/swap/schema.js'
import type {TunePlan} from '../../../../src/experiments/tune/schema.js'
import type {ExportRequest} from '../../../../src/export/record.js'
import type {CellRecord} from '../../../../src/results/record.js'
import {readTuned} from '../../../../src/tuned/index.js'
import {claimOf} from '../../../helpers/claims.js'
import {newFolder} from '../../../helpers/folders.js'
import {modelFolder} from '../../../helpers/model-folders.js'
import {failed} from '../../../helpers/records/outcomes.js'
import {swap} from '../../../helpers/records/swap.js'
import {learned} from '../../../helpers/records/tune.js'

/** Where runs would go, and what was exported there. */
async function place(): Promise<{request: FollowRequest; exported: ExportRequest[]}> {
  const exported: ExportRequest[] = []
  const exportLayers = (async (asked: ExportRequest) => {
    exported.push(asked)
  }) as unknown as FollowRequest['exportLayers']
  return {
    request: {effort: 'quick', seed: 5, directory: await newFolder(), exportLayers},
    exported,
  }
}

const runsOf = (records: Record<string, readonly CellRecord[]>) =>
  new ClaimRuns(new Map(Object.entries(records)))

/** One layer after the other, as tune leaves them. */
const LEARNED = [0, 1, 2, 3].flatMap(layer => [0, 1, 2, 3, 4, 5].map(draw => learned(layer, draw)))

describe.each(['h29', 'h34'])('%s', async id => {
  const claim = await claimOf(id.toUpperCase())
  const [tuneRun, swapRun] = [`${id}-tune`, `${id}-swap`] as const

  it('learns on the first texts, and judges the model on others', async () => {
    const {request, exported} = await place()
    const first = await claim.following!(runsOf({}), request)
    expect(Object.keys(first)).toEqual([tuneRun])
    const tune = first[tuneRun] as TunePlan
    expect(tune).toMatchObject({experiment: 'tune', learn: 'maps,rows', causal: true, seed: 5})
    const [asked] = exported
    expect(tune.input).toMatchObject({
      paths: [0, 1, 2, 3].map(at => join(asked!.output, `layer${at}.safetensors`)),
    })
    const second = await claim.following!(runsOf({[tuneRun]: LEARNED}), request)
    expect(Object.keys(second)).toEqual([swapRun])
    const {texts, methods, layer_sets} = second[swapRun] as SwapPlan
    expect(layer_sets).toEqual([[0, 1, 2, 3]])
    const [plain, tuned] = methods
    expect(plain!.tuned).toBeUndefined()
    expect((await readTuned(tuned!.tuned!.path)).layers.map(({layer}) => layer)).toEqual([
      0, 1, 2, 3,
    ])
    const lines = (path: string) => new Set(readFileSync(path, 'utf8').split('\n'))
    const [used, judged] = [lines(asked!.texts), lines(texts.path)]
    expect([used.size, judged.size]).toEqual([asked!.maxTexts, texts.count])
    expect([...judged].filter(text => used.has(text))).toEqual([])
    const all = runsOf({[tuneRun]: LEARNED, [swapRun]: []})
    expect(await claim.following!(all, request)).toEqual({})
  })

  it('exchanges nothing where a layer was not learned', async () => {
    const {request} = await place()
    const broken = runsOf({[tuneRun]: [...LEARNED.slice(1), failed<CellRecord>(LEARNED[0]!)]})
    expect(await claim.following!(broken, request)).toEqual({})
    expect(existsSync(join(request.directory, `${tuneRun}.safetensors`))).toBe(false)
    const [found] = await outcomes([claim], broken, () => [])
    expect(found!.verdict).toBe('inconclusive')
  })

  const cases: [ClaimVerdict, left: number, spread?: number][] = [
    ['holds', 0.3],
    ['refuted', 0.7],
    ['inconclusive', 0.5, 0.3],
  ]
  it.each(cases)('%s where %s of the loss is left', async (verdict, left, spread = 0.02) => {
    const {request} = await place()
    await claim.following!(runsOf({}), request)
    const {[swapRun]: plan} = await claim.following!(runsOf({[tuneRun]: LEARNED}), request)
    const records = [...(await swapGrid(plan as SwapPlan)).cells()].map(cell =>
      swap(cell, {damage: cell.tuned ? 0.4 * left : 0.4, spread}),
    )
    const [found] = await outcomes([claim], runsOf({[swapRun]: records}), () => [])
    expect(found!.verdict).toBe(verdict)
    if (verdict === 'inconclusive') return
    const [{value, low, high} = {value: 0}] = found!.quantities
    expect(low).toBeLessThan(left)
    expect(high).toBeGreaterThan(left)
    expect(found!.statement).toMatch(/loses 0\.(39|40)\d* nats per token/)
    expect(value).toBeGreaterThan(low!)
  })
})

describe('h29 where MiniLM is installed', async () => {
  const claim = await claimOf('H29')

  /** The runs that follow in a full run. */
  async function followed() {
    const [{request}, folder] = [await place(), await modelFolder('bert')]
    const full: FollowRequest = {...request, effort: 'full', minilm: async () => folder}
    const first = await claim.following!(runsOf({}), full)
    const learnedRuns = Object.fromEntries(Object.keys(first).map(name => [name, LEARNED]))
    return {folder, learnedRuns, swaps: await claim.following!(runsOf(learnedRuns), full)}
  }

  it('learns on both models, and holds only in both', async () => {
    const {folder, learnedRuns, swaps} = await followed()
    expect(Object.keys(learnedRuns)).toEqual(['h29-tune', 'h29-minilm-tune'])
    expect(Object.keys(swaps)).toEqual(['h29-swap', 'h29-minilm-swap'])
    expect(swaps['h29-minilm-swap']).toMatchObject({model: {folder}, causal: false})
    const verdictWhere = async (left: Record<string, number>) => {
      const runs: Record<string, readonly CellRecord[]> = {...learnedRuns}
      for (const [name, plan] of Object.entries(swaps)) {
        runs[name] = [...(await swapGrid(plan as SwapPlan)).cells()].map(cell =>
          swap(cell, {damage: cell.tuned ? 0.4 * left[name]! : 0.4}),
        )
      }
      const [found] = await outcomes([claim], runsOf(runs), () => [])
      return found!
    }
    const both = await verdictWhere({'h29-swap': 0.3, 'h29-minilm-swap': 0.3})
    expect(both.verdict).toBe('holds')
    expect(both.statement).toMatch(/MiniLM loses 0\.\d+ of cosine, and 0\.1\d+ after learning/)
    const one = await verdictWhere({'h29-swap': 0.3, 'h29-minilm-swap': 0.7})
    expect(one.verdict).toBe('depends')
  })

  it('is open where MiniLM was not judged', async () => {
    const {learnedRuns} = await followed()
    const [found] = await outcomes([claim], runsOf(learnedRuns), () => [])
    expect(found!.verdict).toBe('inconclusive')
  })
})
