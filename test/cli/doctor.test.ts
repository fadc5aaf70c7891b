import {existsSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import Doctor from '../../commands/doctor.js'
import {run} from './services.js'

describe('rfa doctor', () => {
  it('reports every backend and the machine, and succeeds', async () => {
    const {stdout, exitCode} = await run(Doctor, 'doctor', [])
    for (const line of [/ tensorflow /, /^ok +wasm /m, /^ok +cpu /m, /^Machine: Test CPU, /m]) {
      expect(stdout).toMatch(line)
    }
    expect(stdout.trim().split('\n').length).toBeLessThanOrEqual(24)
    expect(exitCode).toBe(0)
  })

  it('prints tables with --details', async () => {
    const {stdout} = await run(Doctor, 'doctor', ['--details'])
    expect(stdout).toMatch(/^wasm +yes/m)
    expect(stdout).toMatch(/^cpu +Test CPU$/m)
  })

  it('says where the script that exports a model and its document are', async () => {
    const {stdout} = await run(Doctor, 'doctor', [])
    const paths = stdout.replaceAll(/\s+/g, ' ').match(/\S+(rfa_export\.py|your-model\.md)/g)
    expect(paths).toHaveLength(2)
    for (const path of paths!) expect(existsSync(path)).toBe(true)
  })
})
