import {spawnSync} from 'node:child_process'
import {mkdtempSync, readFileSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, it} from 'vitest'
import {peersReport} from '../../../bench/peers/report.js'
import {packageRoot} from '../../../src/package.js'
import {SLOW} from '../../helpers/effort.js'

/** What bench:peers exits with where there is no Python or no network. */
const UNAVAILABLE = 3

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rfa-test-peers-'))
})

afterAll(() => rmSync(folder, {recursive: true}))

// installs some gigabytes where it was never run before
it.skipIf(!SLOW)('every form of the real peers computes what is asked, and is timed', context => {
  const output = join(folder, 'peers.json')
  const peers = 'torch,jax,onnxruntime,performer-pytorch,linear-attention-transformer'
  const args = ['dist/bench/peers.js', '--quick', '--threads', '1', '--peers', peers]
  const {status, stderr} = spawnSync(process.execPath, [...args, '--output', output], {
    cwd: packageRoot(),
    encoding: 'utf8',
  })
  if (status === UNAVAILABLE) context.skip(stderr.trim().split('\n').at(-1))
  const {rows, missing} = peersReport.parse(JSON.parse(readFileSync(output, 'utf8')))
  expect(missing).toEqual([])
  expect(rows.flatMap(row => row.left_out)).toEqual([])
  expect(status).toBe(0)
  for (const row of rows) expect(row.engines.length).toBeGreaterThan(1)
})
