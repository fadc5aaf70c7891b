/** Damaged run folders: a typed error, or a report that can be shown. */
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, expect, test} from 'vitest'
import {services} from '../../src/cli/services.js'
import {readRuns} from '../../src/cli/write-report.js'
import {RfaError} from '../../src/errors.js'
import {runReport} from '../../src/experiments/run-report.js'
import {renderMarkdown} from '../../src/report/markdown.js'
import {renderTerminal} from '../../src/report/terminal.js'
import {cellKey} from '../../src/results/keys.js'
import {BENCH_MANIFEST, BENCH_PLAN, timed} from '../helpers/records/bench.js'
import {failed, skipped} from '../helpers/records/outcomes.js'
import {VARIANCE_PLAN, variance} from '../helpers/records/variance.js'
import {DAMAGES, damaged, PATIENCE} from './mutate.js'

const folder = mkdtempSync(join(tmpdir(), 'rfa-fuzz-'))
afterAll(() => rmSync(folder, {recursive: true}))

/** The report of a folder with these files; `undefined` where it is refused by a typed error. */
async function reportOf(manifest: Uint8Array, records: Uint8Array): Promise<string | undefined> {
  writeFileSync(join(folder, 'manifest.json'), manifest)
  writeFileSync(join(folder, 'records.jsonl'), records)
  try {
    const blocks = await runReport(await readRuns([folder], 'rfa', services))
    return renderTerminal(blocks, {width: 80, colour: false}) + renderMarkdown(blocks)
  } catch (error) {
    if (error instanceof RfaError) return undefined
    throw error
  }
}

test.each([
  [BENCH_PLAN, timed()],
  [VARIANCE_PLAN, variance()],
] as const)(
  'damaged copies of a run of $experiment',
  async (plan, record) => {
    const own = {...BENCH_MANIFEST, plan, argv: ['rfa', plan.experiment, '--quick']}
    const manifest = Buffer.from(JSON.stringify(own))
    const lines = [record, failed(record), skipped(record)].map((one, seed) => {
      const cell = {...one.cell, seed}
      return JSON.stringify({...one, cell, key: cellKey(one.schema, cell)})
    })
    const records = Buffer.from(`${lines.join('\n')}\n`)
    expect(await reportOf(manifest, records)).toContain('favor-pos')
    for (let n = 0; n < DAMAGES; n++) {
      const shown =
        n % 2 === 0
          ? await reportOf(damaged(manifest, n), records)
          : await reportOf(manifest, damaged(records, n))
      if (shown !== undefined) expect(shown, `copy ${n}`).not.toMatch(/(?!\n)\p{Cc}/u)
    }
  },
  PATIENCE,
)
