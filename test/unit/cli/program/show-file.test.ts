import {chmod, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, expect, it, vi} from 'vitest'
import {showFile} from '../../../../src/cli/program/show-file.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rfa-show-'))
})
afterEach(() => rm(folder, {recursive: true}))

it.skipIf(process.platform === 'win32')(
  'hands the opener of the platform one argument, whatever the file is called',
  async () => {
    for (const [platform, program] of [
      ['linux', 'xdg-open'],
      ['darwin', 'open'],
    ] as const) {
      const told = join(folder, `${program}.txt`)
      await writeFile(
        join(folder, program),
        `#!/bin/sh\nprintf '%s|' "$#" "$@" >'${told}.new'\nmv '${told}.new' '${told}'\n`,
      )
      await chmod(join(folder, program), 0o755)
      vi.stubEnv('PATH', `${folder}:/usr/bin:/bin`)
      const file = '/tmp/a b; $(c).html'
      expect(await showFile(file, platform)).toBe(true)
      await vi.waitFor(async () => expect(await readFile(told, 'utf8')).toBe(`1|${file}|`), {
        timeout: 20_000,
      })
    }
  },
)

it('says where there is no opener', async () => {
  vi.stubEnv('PATH', folder)
  expect(await showFile('/tmp/x.html', 'linux')).toBe(false)
})
