import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll} from 'vitest'

/** A folder of the calling test file; removed with all its content after the last test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-inputs-'))
  afterAll(() => rmSync(folder, {recursive: true, force: true}))
  return folder
}
