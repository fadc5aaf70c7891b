/**
 * Time and memory of reports on runs of many records, made from a small one that is run first. Words are numbers of
 * records and forms, e.g. `5000 html` for 5000 records and pages only.
 */
import {mkdtemp, rm, stat} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {measured} from '../measured.js'
import {axesFor, SMALL_RUN, writeBigRun} from './big-run.js'
import {type Calibration, each} from './run.js'

/** Flags that write each form, in a separate process. */
const FORMS: Readonly<Record<string, (folder: string) => string[]>> = {
  html: folder => ['--html', join(folder, 'report.html')],
  markdown: folder => ['--output', join(folder, 'report.md')],
  svg: folder => ['--output', join(folder, 'other.md'), '--svg', join(folder, 'svg')],
  png: folder => ['--output', join(folder, 'other.md'), '--png', join(folder, 'png')],
  json: folder => ['--json', '--output', join(folder, 'other.md')],
}
const SIZES = ['10000', '100000']

export default (async words => {
  const sizes = words.filter(word => /^\d+$/.test(word))
  const forms = Object.keys(FORMS).map(name => ({name}))
  const asked = words.filter(word => word in FORMS)
  const folder = await mkdtemp(join(tmpdir(), 'rfa-report-'))
  try {
    const small = join(folder, 'small')
    measured([...SMALL_RUN.split(' '), '-o', small])
    const rows = await each(
      (sizes.length > 0 ? sizes : SIZES).map(name => ({name})),
      [],
      async ({name}) => {
        const big = join(folder, name)
        const records = await writeBigRun(big, small, axesFor(Number(name)))
        const {size} = await stat(join(big, 'records.jsonl'))
        const run = {records, 'MB of records': size / 1e6}
        const own = await each(forms, asked, async form => ({...run, ...(await taken(form, big))}))
        await rm(big, {recursive: true})
        return own
      },
    )
    return {rows: rows.flat()}
  } finally {
    await rm(folder, {recursive: true, force: true})
  }
}) satisfies Calibration

async function taken({name}: {name: string}, run: string) {
  const {seconds, peakBytes, output} = measured(['report', run, ...FORMS[name]!(run)])
  const page = name === 'html' ? await stat(join(run, 'report.html')) : undefined
  const written = page?.size ?? output.length
  return {form: name, seconds, 'peak, MB': peakBytes / 1e6, 'written, MB': written / 1e6}
}
