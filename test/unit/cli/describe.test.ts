import {chmodSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {activityFacts, pythonFacts} from '../../../src/cli/describe/diagnose.js'
import {temporaryFolder} from '../../helpers/folders.js'

describe('the Python of peers', () => {
  const folder = temporaryFolder()
  const program = (name: string, script: string) => {
    const path = join(folder, name)
    writeFileSync(path, `#!/bin/sh\n${script}\n`)
    chmodSync(path, 0o755)
    return path
  }

  it('is known by its version and that of PyTorch', async () => {
    const command = program('with', 'echo 3.12.1; echo 2.15.0')
    expect(await pythonFacts(command)).toEqual({command, version: '3.12.1', torch: '2.15.0'})
    const bare = program('without', 'echo 3.12.1')
    expect(await pythonFacts(bare)).toEqual({command: bare, version: '3.12.1', torch: null})
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
