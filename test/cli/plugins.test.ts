/** Estimators of one's own from outside: the built program, plug-ins in folders that know nothing of it. */
import {execFile} from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import {delimiter, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {FULL} from '../helpers/effort.js'
import {newFolder} from '../helpers/folders.js'
import {reluMap, writeFiles} from '../helpers/plugins.js'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

interface Ending {
  code: number
  stdout: string
  stderr: string
}

/** Runs the program in a folder. */
function rfa(cwd: string, line: string, env: Record<string, string> = {}): Promise<Ending> {
  return new Promise(resolve => {
    const options = {cwd, env: {...process.env, ...env}, maxBuffer: 2 ** 26}
    execFile(process.execPath, [program, ...line.split(' ')], options, (error, stdout, stderr) => {
      resolve({code: Number(error?.code ?? 0), stdout, stderr})
    })
  })
}

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = realpathSync(await newFolder())
  writeFiles(folder, files)
  return folder
}

const INPUT = '--generator gaussian --seq-len 16 --batch 1 --heads 2 --head-dim 8'
const SWEEP = `error-sweep ${INPUT} --targets raw --backend cpu --quiet`

const readJson = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8'))

/** What stands in the journal of a run, by method. */
function recordsOf(run: string) {
  const lines = readFileSync(join(run, 'records.jsonl'), 'utf8').trim().split('\n')
  return lines.map(line => JSON.parse(line))
}

describe('--plugin', () => {
  it.runIf(process.platform !== 'win32')(
    'blames TMPDIR, not a file in Python, for no place for pipes',
    async () => {
      const folder = await folderWith({'own.py': 'def phi(x, projection):\n    return x\n'})
      for (const place of [join(folder, 'nowhere'), join(folder, 'own.py')]) {
        const line = `${SWEEP} --plugin own.py --methods own --num-features 8`
        const {code, stderr} = await rfa(folder, line, {TMPDIR: place})
        expect(code).toBe(3)
        expect(stderr).toContain(
          `${place}: expected a folder for temporary files, which TMPDIR names`,
        )
        expect(stderr).not.toContain('own.py: /')
      }
    },
  )

  it('brings estimators into a sweep like those built in, and fails only the cells of broken ones', async () => {
    const folder = await folderWith({
      'good.mjs': reluMap('good'),
      'nan.mjs': reluMap('nan', 'phi: () => x => tf.sqrt(x),'),
      'throws.mjs': reluMap('throws', 'phi: () => x => tf.matMul(x, tf.ones([3, 3])),'),
    })
    const plugins = '--plugin good.mjs --plugin=nan.mjs --plugin throws.mjs'
    const {code, stdout} = await rfa(
      folder,
      `${SWEEP} ${plugins} --methods good,nan,throws,elu --option good.shift=0.5 --output run`,
    )
    expect(code).toBe(4)
    expect(stdout).toMatch(/^good \(shift=0\.5\) .*\d/m)
    expect(stdout).toMatch(/^elu .*\d/m)
    const records = recordsOf(join(folder, 'run'))
    const told = Object.fromEntries(
      records.map(({cell, status, error}) => [cell.method, error ?? {status}]),
    )
    expect(told.good).toEqual({status: 'completed'})
    expect(told.elu).toEqual({status: 'completed'})
    expect(told.nan).toEqual({
      code: 'NOT_FINITE',
      message: expect.stringMatching(/^nan: phi: expected finite features, got NaN/),
    })
    expect(told.throws).toEqual({
      code: 'PLUGIN_FAILED',
      message: expect.stringMatching(/^throws: phi threw .*throws\.mjs:\d+:\d+\)$/),
    })
    const {plan} = readJson(folder, 'run', 'manifest.json')
    expect(plan.plugins).toMatchObject([
      {path: join(folder, 'good.mjs'), imports: [], methods: ['good']},
      {methods: ['nan']},
      {methods: ['throws']},
    ])
    const digest = plan.plugins[0].sha256
    expect(records.find(({cell}) => cell.method === 'good').cell.plugin).toBe(digest)
    expect(records.find(({cell}) => cell.method === 'elu').cell).not.toHaveProperty('plugin')

    // without the plug-ins the run is read as before
    rmSync(join(folder, 'good.mjs'))
    const report = await rfa(folder, 'report run --output -')
    expect(report.code).toBe(0)
    expect(report.stdout).toMatch(/^\| good \(shift=0\.5\) \|/m)
    expect(report.stdout).toContain(`good.mjs, SHA-256 ${digest}: good`)
  })

  it.runIf(FULL)('is taken by every command that takes names of estimators', async () => {
    const random = `${reluMap('drawn', "projection: {default: 'iid'}, featureDim: m => m, phi: ({inputScale, projection}) => x => tf.relu(project(tf.mul(x, inputScale), projection)),").replace(' tf, z', ' project, tf, z')}`
    const folder = await folderWith({'drawn.mjs': random})
    const plugin = '--plugin drawn.mjs'
    const [table, one, json, apply, bench, variance, bash, doctor] = await Promise.all([
      rfa(folder, `methods --details ${plugin}`),
      rfa(folder, `methods drawn ${plugin}`),
      rfa(folder, `methods drawn --json ${plugin}`),
      rfa(
        folder,
        `apply ${plugin} --method drawn --backend cpu --output out.npz --json --input ${join(packageRoot(), 'fixtures', 'charlm-layer0.safetensors')}`,
      ),
      rfa(
        folder,
        `bench ${plugin} --methods drawn --seq-len 16 --head-dim 8 --num-features 8 --backend cpu --min-runs 2 --min-time 0 --warmup 0 --no-exact --json --output bench`,
      ),
      rfa(
        folder,
        `variance ${plugin} --methods drawn --num-features 8 --head-dim 8 --norms 1 --angles 60 --replicates 20`,
      ),
      rfa(folder, `completion bash ${plugin}`),
      rfa(folder, 'doctor --json --plugin missing.mjs', {RFA_PLUGINS: 'drawn.mjs'}),
    ])
    expect(table.stdout).toMatch(/^drawn +rectified entries/m)
    expect(table.stdout).toContain(`- drawn comes from ${join(folder, 'drawn.mjs')}`)
    expect(one.stdout).toMatch(/^plug-in +.*drawn\.mjs$/m)
    expect(JSON.parse(json.stdout).methods[0]).toMatchObject({
      name: 'drawn',
      plugin: join(folder, 'drawn.mjs'),
      feature_dim: 256,
    })
    expect(JSON.parse(apply.stdout)).toMatchObject({
      method: 'drawn',
      plugin: {methods: ['drawn']},
      arrays: [{feature_dim: 256, not_finite: 0}],
    })
    const timed = JSON.parse(bench.stdout)
    expect(timed.counts).toMatchObject({completed: 1, failed: 0})
    expect(timed.records[0].result.feature_dim).toBe(8)
    expect(variance.code).toBe(2) // it states no kernel
    expect(variance.stderr).toContain('a method that estimates a kernel')
    expect(bash.stdout).toMatch(/\bdrawn\b/)
    expect(JSON.parse(doctor.stdout).plugins).toMatchObject([
      {path: 'missing.mjs', sha256: null, reason: expect.stringContaining('got no such file')},
      {path: 'drawn.mjs', methods: ['drawn'], sha256: expect.stringMatching(/^[0-9a-f]{64}$/)},
    ])
  })

  it.runIf(FULL)(
    'joins the default methods, and RFA_PLUGINS names more, separated as in PATH',
    async () => {
      const folder = await folderWith({
        'a.mjs': reluMap('map-a'),
        'b.mjs': reluMap('map-b'),
        'c.mjs': reluMap('map-c'),
      })
      const env = {RFA_PLUGINS: ['b.mjs', 'c.mjs', ''].join(delimiter)}
      const {stdout} = await rfa(folder, `${SWEEP} --quick --plugin a.mjs --dry-run --json`, env)
      const {plan} = JSON.parse(stdout)
      const names = plan.methods.map(({method}: {method: string}) => method)
      expect(names.slice(-3)).toEqual(['map-a', 'map-b', 'map-c'])
      expect(names).toContain('favor-pos')
      const chosen = await rfa(folder, `${SWEEP} --methods map-b,elu --dry-run --json`, env)
      expect(JSON.parse(chosen.stdout).plan.plugins).toMatchObject([{methods: ['map-b']}])
      const idle = await rfa(folder, `${SWEEP} --plugin a.mjs --methods map-b --dry-run`, env)
      expect(idle.stderr).toMatch(
        /^warning: --plugin .*a\.mjs: none of its estimators \(map-a\) is among --methods\n$/,
      )
      const slip = await rfa(folder, `${SWEEP} --methods map-d`, env)
      expect(slip.stderr).toMatch(/did you mean map-[abc]\?/)
      const broken = await rfa(folder, `${SWEEP} --methods elu`, {RFA_PLUGINS: 'none.mjs'})
      expect(broken).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/^RFA_PLUGINS: none\.mjs: expected a plug-in/),
      })
    },
  )
})

it('a plug-in trains like built-in methods, and one with NaN fails alone', async () => {
  const folder = await folderWith({
    'good.mjs': reluMap('good'),
    'nan.mjs': reluMap('nan', 'phi: () => x => tf.sqrt(x),'),
  })
  const {code, stdout} = await rfa(
    folder,
    'train --quick --plugin good.mjs --plugin nan.mjs --methods good,nan --steps 12 --seeds 1 --output run --quiet',
  )
  expect(code).toBe(4)
  expect(stdout).toMatch(/^good +\d\S* %/m)
  expect(stdout).toContain('nan: phi: expected finite features, got NaN')
  const statuses = recordsOf(join(folder, 'run')).map(({cell, status}) => [cell.method, status])
  expect(statuses.sort()).toEqual([
    ['good', 'completed'],
    ['nan', 'failed'],
  ])
})

it('a plug-in that ends the process while it is loaded, or later, is no success', async () => {
  const folder = await folderWith({
    'exits.mjs': `process.exit(0)\n${reluMap('exits')}`,
    'later.mjs': reluMap('later', '', 'setTimeout(() => process.exit(0))'),
  })
  const [first, json, later] = await Promise.all([
    rfa(folder, `${SWEEP} --plugin exits.mjs --methods elu --output run`),
    rfa(folder, 'methods --json --plugin exits.mjs'),
    rfa(folder, `${SWEEP} --plugin later.mjs --methods later --dry-run`),
  ])
  const message = (name: string) =>
    `${join(folder, name)}: expected a plug-in that does not end the process, got an exit with code 0 during the command`
  expect(first.code).toBe(3)
  expect(first.stderr).toMatch(new RegExp(`^${message('exits.mjs')}\nCode: PLUGIN_FAILED   Try: `))
  expect([json.code, JSON.parse(json.stdout).error.code]).toEqual([3, 'PLUGIN_FAILED'])
  expect([later.code, later.stderr]).toEqual([3, expect.stringContaining(message('later.mjs'))])
})

it('rfa check takes names from files wherever these stand among its words, and from RFA_PLUGINS', async () => {
  const folder = await folderWith({'my.mjs': reluMap('my-map'), 'other.mjs': reluMap('other')})
  const line = 'check my-map elu ./my.mjs --only facts --json'
  const [before, named, unknown] = await Promise.all([
    rfa(folder, line),
    rfa(folder, 'check other --only facts --json', {RFA_PLUGINS: 'other.mjs'}),
    rfa(folder, 'check other ./my.mjs --only facts'),
  ])
  const origins = ({stdout}: Ending) =>
    JSON.parse(stdout).estimators.map(({name, plugin}: Record<string, unknown>) => [name, plugin])
  expect(origins(before)).toEqual([
    ['my-map', join(folder, 'my.mjs')],
    ['elu', null],
  ])
  expect(origins(named)).toEqual([['other', join(folder, 'other.mjs')]])
  expect(unknown.code).toBe(2)
})

// each test starts some ten programs: a quick run has one of them
describe('a run with a plug-in', () => {
  const line = `${SWEEP} --methods mine,elu --output run`

  /** A run whose cells all failed but for a first one, so that there is something to go on with. */
  async function begun() {
    const folder = await folderWith({
      'mine.mjs': reluMap('mine', '', "import './part.mjs'"),
      'part.mjs': 'export {}\n',
      'other.mjs': reluMap('other'),
    })
    const {code} = await rfa(folder, `${line} --plugin mine.mjs`)
    expect(code).toBe(0)
    return folder
  }

  it.runIf(FULL)('goes on once it is named, also where the file has been moved', async () => {
    const folder = await begun()
    const resume = 'error-sweep --resume --output run --quiet'
    expect((await rfa(folder, resume)).code).toBe(2)
    expect((await rfa(folder, `${resume} --plugin mine.mjs`)).code).toBe(0)
    expect((await rfa(folder, resume, {RFA_PLUGINS: 'mine.mjs'})).code).toBe(0)
    mkdirSync(join(folder, 'moved'))
    for (const file of ['mine.mjs', 'part.mjs'])
      renameSync(join(folder, file), join(folder, 'moved', file))
    for (const rest of ['', line.slice('error-sweep'.length)]) {
      const found = await rfa(
        folder,
        `error-sweep${rest || ' --output run --quiet'} --resume --plugin moved/mine.mjs`,
      )
      expect(found, found.stderr).toMatchObject({code: 0})
    }
    const more = await rfa(
      folder,
      `${line.replace('elu', 'elu,softmax')} --resume --plugin moved/mine.mjs`,
    )
    expect(more.code).toBe(0)
    expect(recordsOf(join(folder, 'run'))).toHaveLength(3)
  })

  it.runIf(FULL)(
    'does not go on with a changed one, nor where what it imports was changed',
    async () => {
      const folder = await begun()
      writeFiles(folder, {'part.mjs': 'export const changed = 1\n'})
      for (const command of ['error-sweep --output run --quiet', line]) {
        const {code, stderr} = await rfa(folder, `${command} --resume --plugin mine.mjs`)
        expect(code).toBe(2)
        expect(stderr).toMatch(
          /^run: expected the plug-in that this run was started with, .*mine\.mjs \(SHA-256 [0-9a-f]{12}…\), got one of SHA-256 [0-9a-f]{12}…/,
        )
        expect(stderr).toContain('PLAN_MISMATCH')
      }
    },
  )

  it.runIf(FULL)(
    'does not go on with a changed copy that is named now, be it by the environment',
    async () => {
      const folder = await begun()
      writeFiles(folder, {'copy.mjs': reluMap('mine', '', '// changed')})
      const resume = 'error-sweep --output run --quiet --resume'
      const [typed, other] = await Promise.all([
        rfa(folder, `${resume} --plugin copy.mjs`),
        rfa(folder, resume, {RFA_PLUGINS: 'copy.mjs'}),
      ])
      expect(typed.code).toBe(2)
      expect(typed.stderr).toMatch(
        /^run: expected the plug-ins that this run was started with, .*mine\.mjs, got .*copy\.mjs \(SHA-256 [0-9a-f]{12}…\) besides/,
      )
      expect(other.code).toBe(2)
      expect(other.stderr).toContain('mine.mjs, which the command does not name')
    },
  )

  it.runIf(FULL)('is not one of the environment for having been typed in two ways', async () => {
    const folder = await begun()
    const env = {RFA_PLUGINS: 'other.mjs'}
    const twice = '--plugin mine.mjs --plugin ./mine.mjs'
    const [fresh, resumed] = await Promise.all([
      rfa(folder, `${SWEEP} --methods mine ${twice} --dry-run`, env),
      rfa(folder, `error-sweep --output run --quiet --resume ${twice}`, env),
    ])
    expect(fresh).toMatchObject({code: 0, stderr: ''})
    expect(resumed, resumed.stderr).toMatchObject({code: 0})
  })

  it.runIf(FULL)('does not go on with another one besides, or without it', async () => {
    const folder = await begun()
    for (const command of [
      'error-sweep --output run --quiet --plugin mine.mjs',
      `${line.replace('elu', 'elu,other')} --plugin mine.mjs`,
    ]) {
      const {code, stderr} = await rfa(folder, `${command} --resume --plugin other.mjs`)
      expect(code).toBe(2)
      expect(stderr).toMatch(
        /^run: expected the plug-ins that this run was started with, .*mine\.mjs, got .*other\.mjs \(SHA-256 [0-9a-f]{12}…\) besides/,
      )
    }
    const without = await rfa(folder, `${line.replace('mine,', '')} --resume`)
    expect(without.code).toBe(2)
    expect(without.stderr).toMatch(/mine\.mjs \(SHA-256 .*\), got a plan without it/)
    // what the environment names besides, and the plan has no use for, is no part of the run
    const env = {RFA_PLUGINS: join(folder, 'other.mjs')}
    expect((await rfa(folder, `${line} --plugin mine.mjs --resume`, env)).code).toBe(0)
  })
})

describe('modules of a plug-in', () => {
  it.runIf(FULL)(
    'may be copies of zod and TensorFlow.js of its own: the same numbers come of them',
    async () => {
      const own = reluMap('mine').replace(
        "import {defineFeatureMap, guardOptions, tf, z} from 'rfa/attention'",
        "import * as tf from '@tensorflow/tfjs-core'\nimport {z} from 'zod'\nimport {defineFeatureMap, guardOptions, tf as shared} from 'rfa'\nif (tf.Tensor === shared.Tensor) throw new Error('no copy')",
      )
      const folder = await folderWith({'mine.mjs': reluMap('mine'), 'copies/mine.mjs': own})
      for (const name of [
        'zod',
        '@tensorflow/tfjs-core',
        'seedrandom',
        'long',
        'node-fetch',
        'whatwg-url',
        'tr46',
        'webidl-conversions',
      ]) {
        copyPackage(name, join(folder, 'copies', 'node_modules', name))
      }
      const runs = ['mine.mjs', 'copies/mine.mjs'].map(async (file, index) => {
        const ended = await rfa(
          folder,
          `${SWEEP} --plugin ${file} --methods mine --option shift=1 --output run-${index}`,
        )
        expect(ended, ended.stderr + ended.stdout).toMatchObject({code: 0})
        return recordsOf(join(folder, `run-${index}`)).map(({result}) => result)
      })
      const [shared, copied] = await Promise.all(runs)
      expect(copied).toEqual(shared)
    },
  )
})

/** A package without what browsers and tests of it need. */
function copyPackage(name: string, to: string): void {
  const from = join(packageRoot(), 'node_modules', name)
  if (name !== '@tensorflow/tfjs-core') {
    cpSync(from, to, {recursive: true})
    return
  }
  mkdirSync(join(to, 'dist'), {recursive: true})
  for (const file of ['package.json', 'dist/tf-core.node.js'])
    copyFileSync(join(from, file), join(to, file))
}
