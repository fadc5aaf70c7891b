import {spawnSync} from 'node:child_process'
import {copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import * as tf from '@tensorflow/tfjs-core'
import {afterAll, afterEach, beforeAll, describe, expect, it, vi} from 'vitest'
import '@tensorflow/tfjs-backend-cpu'
import {hostData} from '../../../src/attention/host-data.js'

beforeAll(async () => {
  await tf.setBackend('cpu')
})

afterEach(() => {
  vi.restoreAllMocks()
})

describe('hostData', () => {
  it('reads tensors by name and leaves out those that are absent', () => {
    const {sum, none} = hostData(() => ({sum: tf.add([1, 2], [3, 4]), none: undefined}))
    expect([...sum]).toEqual([4, 6])
    expect(none).toBeUndefined()
  })

  it('frees what it made and keeps what was there', () => {
    const kept = tf.tensor1d([1, 2])
    const before = tf.memory().numTensors
    expect([...hostData(() => ({kept, twice: tf.mul(kept, 2)})).twice]).toEqual([2, 4])
    expect(tf.memory().numTensors).toBe(before)
    expect([...kept.dataSync()]).toEqual([1, 2])
    kept.dispose()
  })

  it('gives tf.tidy nothing to search', () => {
    const endScope = vi.spyOn(tf.engine(), 'endScope')
    hostData(() => ({ones: tf.ones([1000])}))
    expect(endScope.mock.calls).toEqual([[undefined]])
  })
})

describe('the lint rule', () => {
  const project = mkdtempSync(join(tmpdir(), 'rfa-lint-'))

  beforeAll(() => {
    mkdirSync(join(project, 'scripts'))
    for (const file of ['biome.json', 'scripts/read-tensors.grit']) {
      copyFileSync(file, join(project, file))
    }
  })

  afterAll(() => {
    rmSync(project, {recursive: true})
  })

  function lint(path: string): string {
    mkdirSync(join(project, dirname(path)), {recursive: true})
    writeFileSync(
      join(project, path),
      'export const read = (x: {dataSync(): number}) => x.dataSync()\n',
    )
    const biome = join(process.cwd(), 'node_modules', '.bin', 'biome')
    const args = ['lint', '--vcs-enabled=false', path]
    const {stdout, stderr} = spawnSync(biome, args, {cwd: project, encoding: 'utf8'})
    return stdout + stderr
  }

  it('refuses to read a tensor anywhere but in hostData', () => {
    expect(lint('src/attention/attention.ts')).toContain('Read tensors with hostData')
    expect(lint('src/attention/host-data.ts')).not.toContain('Read tensors with hostData')
  })
})
