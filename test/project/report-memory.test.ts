/** Memory that a page takes of a run of as many records as a plan has; `npm run bench:calibrate -- report` prints all forms. */
import {rm, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it, onTestFinished} from 'vitest'
import {axesFor, SMALL_RUN, writeBigRun} from '../../bench/calibrate/big-run.js'
import {measured} from '../../bench/measured.js'
import {FULL} from '../helpers/effort.js'
import {newFolder} from '../helpers/folders.js'

/** Records, the most that a plan has without being forced, and the peak that is allowed, in bytes. */
const [RECORDS, MOST_BYTES] = [100_000, 1e9]

describe.runIf(FULL)('a page of a large run', () => {
  it(`takes little memory: ${RECORDS} records`, async () => {
    const folder = await newFolder()
    onTestFinished(() => rm(folder, {recursive: true, force: true}))
    const [small, big] = [join(folder, 'small'), join(folder, 'big')]
    measured([...SMALL_RUN.split(' '), '-o', small])
    expect(await writeBigRun(big, small, axesFor(RECORDS))).toBe(RECORDS)
    const page = join(folder, 'report.html')
    const {peakBytes, seconds} = measured(['report', big, '--html', page])
    const {size} = await stat(page)
    process.stdout.write(
      `${RECORDS} records: ${seconds.toFixed(1)} s, peak ${(peakBytes / 1e6).toFixed(0)} MB, page ${(size / 1e6).toFixed(2)} MB\n`,
    )
    expect(peakBytes).toBeLessThan(MOST_BYTES)
    expect(size).toBeLessThan(5e6)
  })
})
