/** docs/your-model.md does what it says: its Python is run, then its commands on what that wrote. */
import {spawnSync} from 'node:child_process'
import {resolve} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {documentedCommands} from '../helpers/documented-commands.js'
import {temporaryFolder} from '../helpers/folders.js'
import {PYTHON, python} from './python.js'

const DOCUMENT = 'docs/your-model.md'
const COMMANDS = documentedCommands(DOCUMENT).filter(command => /error-sweep/.test(command))
const folder = temporaryFolder()

describe.runIf(PYTHON)(DOCUMENT, () => {
  let said: string
  beforeAll(async () => {
    said = await python([resolve('test/python/documented.py'), resolve(DOCUMENT)], folder)
  })

  it('has Python that runs and writes what it says', () => {
    expect(said).toBe('out/layer0.safetensors out/layer3.safetensors\n')
    expect(COMMANDS).toHaveLength(6)
  })

  it.each(COMMANDS)('%s', command => {
    const argv = command.split(' ').slice(2)
    const run = spawnSync(process.execPath, [resolve('bin/run.js'), ...argv], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(run.status, run.stderr).toBe(0)
    expect(run.stdout).toContain('favor-pos')
    expect(run.stderr).not.toMatch(/warning/i)
  })
})
