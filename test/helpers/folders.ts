/** Temporary folders that go away by themselves. */
import {mkdtempSync, rmSync} from 'node:fs'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, onTestFinished} from 'vitest'

/** A new empty folder, removed after the test. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rfa-test-'))
  onTestFinished(() => rm(folder, {recursive: true, force: true}))
  return folder
}

/** A folder of the calling test file; removed with all its content after the last test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-test-'))
  afterAll(() => rmSync(folder, {recursive: true, force: true}))
  return folder
}
