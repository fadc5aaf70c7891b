import {appendFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {setFlagsFromString} from 'node:v8'
import {runInNewContext} from 'node:vm'
import {describe, expect, it} from 'vitest'
import type {CompletedSweep} from '../../../src/experiments/error-sweep/schema.js'
import {allExperiments, experimentNamed} from '../../../src/experiments/index.js'
import {readNewest, readRecords} from '../../../src/results/journal-reader.js'
import {cellKey} from '../../../src/results/keys.js'
import {parseRecord} from '../../../src/results/parse-record.js'
import type {CellRecord} from '../../../src/results/record.js'
import {cellKeyOf, StoredRecords, wholeRecord} from '../../../src/results/stored-records.js'
import {newFolder} from '../../helpers/folders.js'
import {timed} from '../../helpers/records/bench.js'
import {metric, sweep} from '../../helpers/records/error-sweep.js'
import {failed, interrupted, skipped} from '../../helpers/records/outcomes.js'
import {variance} from '../../helpers/records/variance.js'

const EXPERIMENTS = await allExperiments()

async function folderWith(records: readonly CellRecord[]) {
  const folder = await newFolder()
  const lines = records.map(record => `${JSON.stringify(record)}\n`)
  await writeFile(join(folder, 'records.jsonl'), lines.join(''))
  return folder
}

/** What a value says where another one has fields, read one by one. */
function readAs(like: unknown, value: unknown): unknown {
  if (Array.isArray(like) || typeof like !== 'object' || like === null) return value
  const names = Object.keys(like) as (keyof typeof like)[]
  return Object.fromEntries(
    names.map(name => [name, readAs(like[name], (value as typeof like)?.[name])]),
  )
}

/** A sweep of two methods, several M, scales and a layer, with what may be missing. */
const SWEEPS = [8, 16, 64].flatMap(num_features =>
  ['favor-pos', 'rfa'].flatMap(method =>
    [1, 2].map(scale => {
      const rel_l2 = metric(scale / num_features, 0.5 / num_features, 3 / num_features)
      return sweep({method, num_features, scale}, {rel_l2, mse: metric(rel_l2.median! ** 2)})
    }),
  ),
)
const ODD = [
  sweep({layer: 3}, {row_kl_nats: metric(0.25), row_kl_infinite_pct: 12.5}),
  sweep({seed: 1}, {rel_l2: metric(null), means_unknown: 'not_finite', mse_standard_error: null}),
  sweep({logit_scale: 0.3}, {cosine: metric(-0), predicted_rel_l2: null}),
]
const ALL = [
  ...[...SWEEPS, ...ODD],
  ...[timed(), interrupted(timed({method: 'rfa'})), variance()],
  ...[failed(sweep({seed: 9})), skipped(variance({seed: 7}))],
]

describe('records of a journal', () => {
  it('say all that stands there, field by field, and as JSON', async () => {
    const folder = await folderWith(ALL)
    const [stored, whole] = [
      await readNewest(folder, EXPERIMENTS),
      await readRecords(folder, EXPERIMENTS),
    ]
    expect(stored.map((record, at) => readAs(whole[at], record))).toEqual(whole)
    expect(stored.map(wholeRecord)).toEqual(whole)
    expect(JSON.parse(JSON.stringify(stored))).toEqual(JSON.parse(JSON.stringify(whole)))
    expect(stored.map(cellKeyOf)).toEqual(whole.map(({schema, cell}) => cellKey(schema, cell)))
  })

  it('are the newest of each cell, where the first one stood; keys that are wrong hide none', async () => {
    const [a, b] = [sweep({seed: 1}), sweep({seed: 2})]
    const swapped = {...b, key: a.key}
    const c = timed()
    const records = [failed(a), b, a, failed(a), failed(swapped), interrupted(c), swapped, c]
    const stored = await readNewest(await folderWith(records), EXPERIMENTS)
    expect(stored.map(wholeRecord)).toEqual([a, b, swapped, c])
    expect(stored.map(({key}) => key)).toEqual([a.key, b.key, a.key, c.key])
  })

  it('are read to the last whole line, of more than one piece', async () => {
    const many = Array.from({length: 900}, (_, seed) => sweep({seed}))
    const folder = await folderWith(many)
    await appendFile(join(folder, 'records.jsonl'), '{"schema":"rfa.err')
    const stored = await readNewest(folder, EXPERIMENTS)
    expect(stored.map(wholeRecord)).toEqual(many)
  })

  it.each(['error-sweep', 'variance', 'bench'])(
    'make the same report as those in memory: %s',
    async name => {
      const experiment = await experimentNamed(name)
      const own = ALL.filter(({schema}) => schema === experiment.schema)
      const stored = await readNewest(await folderWith(own), EXPERIMENTS)
      for (const part of ['report', 'verdicts', 'findings', 'highlights', 'figures'] as const) {
        expect(await experiment[part]?.(stored)).toEqual(await experiment[part]?.(own))
      }
    },
  )

  it('are refused where the file is another one by then', async () => {
    const folder = await folderWith(SWEEPS)
    const stored = new StoredRecords(join(folder, 'records.jsonl'), EXPERIMENTS, parse, 0)
    SWEEPS.forEach((record, at) => {
      stored.add(record, {number: at + 1, start: 3 + at, bytes: 40})
    })
    expect(() => wholeRecord(stored.newest()[4]!)).toThrow(/records.jsonl:5/)
  })
})

const parse = (text: string, where: string) => {
  try {
    return parseRecord(JSON.parse(text), where, EXPERIMENTS)
  } catch (error) {
    throw new Error(where, {cause: error})
  }
}

describe('memory of stored records', () => {
  it('has no whole record beyond so many bytes: others are read again', async () => {
    const lines = SWEEPS.map(record => JSON.stringify(record))
    const folder = await folderWith(SWEEPS)
    let parsed = 0
    const counting = (text: string, where: string) => {
      parsed++
      return parse(text, where)
    }
    const room = lines[0]!.length + lines[1]!.length
    const path = join(folder, 'records.jsonl')
    const stored = new StoredRecords(path, EXPERIMENTS, counting, room)
    let start = 0
    SWEEPS.forEach((record, at) => {
      stored.add(record, {number: at + 1, start, bytes: lines[at]!.length})
      start += lines[at]!.length + 1
    })
    const records = stored.newest() as CompletedSweep[]
    expect(records.map(({result}) => result.rel_l2.median)).toEqual(
      SWEEPS.map(({result}) => (result as CompletedSweep['result']).rel_l2.median),
    )
    expect(parsed).toBe(0)
    expect(records.map(({result}) => result.max_abs.median)).not.toContain(undefined)
    expect(parsed).toBe(SWEEPS.length - 2)
    expect(records.map(wholeRecord)).toEqual(SWEEPS)
  })

  it('grows by no more than a tenth of what whole records take', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const heap = () => {
      collect()
      const {heapUsed, arrayBuffers} = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const before = heap()
    const stored = new StoredRecords('nowhere', EXPERIMENTS, parse, 0)
    const count = 4096
    const model = JSON.stringify(SWEEPS[0])
    for (let seed = 0; seed < count; seed++) {
      const record = JSON.parse(model) as CompletedSweep
      record.result.rel_l2.median = 1 / (1 + seed)
      const cell = {...record.cell, seed}
      stored.add(
        {...record, cell, key: cellKey(record.schema, cell)},
        {number: 1, start: 0, bytes: 1},
      )
    }
    const held = heap() - before
    expect(stored.newest()).toHaveLength(count)
    const again = heap()
    const whole = Array.from({length: count}, () => JSON.parse(model) as CompletedSweep)
    const parsed = heap() - again
    expect(whole).toHaveLength(count)
    expect(held).toBeLessThan(parsed / 10)
  })
})
