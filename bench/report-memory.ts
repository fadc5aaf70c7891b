/**
 * Time and memory that reports take of runs of many records, made from a small one that is run first.
 *
 *     npm run bench:report                    10,000, 100,000 and 1,000,000 records
 *     npm run bench:report -- 5000 --html     so many, and pages alone
 */
import {mkdtemp, rm, stat} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {axesFor, SMALL_RUN, writeBigRun} from './big-run.js'
import {measured} from './measured.js'

/** What is written, by the flag that asks for it; each in a process of its own. */
const FORMS: Readonly<Record<string, (folder: string) => string[]>> = {
  '--html': folder => ['--html', join(folder, 'report.html')],
  '--markdown': folder => ['--output', join(folder, 'report.md')],
  '--svg': folder => ['--output', join(folder, 'other.md'), '--svg', join(folder, 'svg')],
  '--png': folder => ['--output', join(folder, 'other.md'), '--png', join(folder, 'png')],
  '--json': folder => ['--json', '--output', join(folder, 'other.md')],
}

async function main(words: readonly string[]): Promise<void> {
  const sizes = words.filter(word => /^\d+$/.test(word)).map(Number)
  const forms = words.filter(word => word in FORMS)
  const folder = await mkdtemp(join(tmpdir(), 'rfa-report-'))
  try {
    const small = join(folder, 'small')
    measured([...SMALL_RUN.split(' '), '-o', small])
    for (const size of sizes.length > 0 ? sizes : [1e4, 1e5, 1e6]) {
      const big = join(folder, String(size))
      const records = await writeBigRun(big, small, axesFor(size))
      const {size: bytes} = await stat(join(big, 'records.jsonl'))
      process.stdout.write(`${records} records, ${(bytes / 1e6).toFixed(0)} MB\n`)
      for (const form of forms.length > 0 ? forms : Object.keys(FORMS)) {
        const {seconds, peakBytes, output} = measured(['report', big, ...FORMS[form]!(big)])
        const page = form === '--html' ? await stat(join(big, 'report.html')) : undefined
        const written = page?.size ?? output.length
        const line = [`${seconds.toFixed(1)} s`, `peak ${(peakBytes / 1e6).toFixed(0)} MB`]
        process.stdout.write(`  ${form}: ${line.join(', ')}, ${(written / 1e6).toFixed(2)} MB\n`)
      }
      await rm(big, {recursive: true})
    }
  } finally {
    await rm(folder, {recursive: true, force: true})
  }
}

await main(process.argv.slice(2))
