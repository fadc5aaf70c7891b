// Downloads over HTTPS, through a proxy where the environment names one; what was cut short goes on where it stopped.
import {createWriteStream, existsSync, rmSync, statSync} from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import {pipeline} from 'node:stream/promises'
import {Failure} from './failure.js'

const MOST_REDIRECTS = 5
/** A server that says nothing for so long is taken for dead. */
const SILENCE_MS = 60_000

/**
 * The text of a page.
 *
 * @param proxyAgent - makes an agent from a proxy's address; only asked where there is one
 */
export async function textOf(url, {headers = {}, proxyAgent}) {
  const response = await request(url, {headers, proxyAgent})
  if (response.statusCode !== 200) {
    response.resume()
    throw refused(url, response.statusCode)
  }
  const parts = []
  for await (const part of response) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

/**
 * Adds to a file what it still lacks of a resource, or writes it anew where the server does not go on.
 *
 * @param onBytes - called with the number of bytes that are there
 */
export async function fetchInto(file, url, {proxyAgent, onBytes}) {
  const there = existsSync(file) ? statSync(file).size : 0
  const headers = there > 0 ? {range: `bytes=${there}-`} : {}
  const response = await request(url, {headers, proxyAgent})
  const {statusCode} = response
  if (statusCode === 416) return response.resume() // all of it is there
  if (statusCode !== 200 && statusCode !== 206) {
    response.resume()
    throw refused(url, statusCode)
  }
  if (statusCode === 206 && startOf(response) !== there) {
    response.destroy()
    rmSync(file)
    return fetchInto(file, url, {proxyAgent, onBytes})
  }
  let bytes = statusCode === 206 ? there : 0
  response.on('data', part => {
    bytes += part.length
    onBytes(bytes)
  })
  await pipeline(response, createWriteStream(file, {flags: statusCode === 206 ? 'a' : 'w'}))
}

/** The first byte that a part of a resource has, counted from 0; nothing where the server does not say it. */
function startOf({headers}) {
  const start = /^bytes (\d+)-/.exec(headers['content-range'] ?? '')?.[1]
  return start && Number(start)
}

/** The response to a GET, after redirects. */
async function request(url, {headers, proxyAgent}, redirects = 0) {
  const response = await get(url, {headers, proxyAgent})
  const {statusCode, headers: answer} = response
  if (statusCode < 300 || statusCode >= 400 || !answer.location) return response
  response.resume()
  if (redirects === MOST_REDIRECTS) throw new Failure(`${plain(url)} redirects in circles`)
  const next = new URL(answer.location, url)
  return request(next.href, {headers, proxyAgent}, redirects + 1)
}

function get(address, {headers, proxyAgent}) {
  const url = new URL(address)
  const auth = url.username ? `${decoded(url.username)}:${decoded(url.password)}` : undefined
  const proxy = proxyFor(url, process.env)
  const agent = proxy ? proxyAgent(proxy) : undefined
  const {get: ask} = url.protocol === 'http:' ? http : https
  return new Promise((settle, fail) => {
    const sent = ask(url, {headers: {'user-agent': 'rfa-setup', ...headers}, auth, agent}, settle)
    sent.on('error', fail)
    sent.setTimeout(SILENCE_MS, () =>
      sent.destroy(new Failure(`${url.host} did not answer in time`)),
    )
  })
}

/** The proxy for an address by the usual variables; `undefined` where none is named or NO_PROXY lists the host. */
export function proxyFor({protocol, hostname}, env) {
  const names = protocol === 'http:' ? ['http_proxy'] : ['https_proxy', 'HTTPS_PROXY']
  const proxy = [...names, 'all_proxy', 'ALL_PROXY'].map(name => env[name]).find(Boolean)
  const except = (env.no_proxy ?? env.NO_PROXY ?? '').split(/[\s,]+/).filter(Boolean)
  const listed = except.some(name => {
    const domain = name.replace(/^\*?\.?/, '').replace(/:\d+$/, '')
    return name === '*' || hostname === domain || hostname.endsWith(`.${domain}`)
  })
  return listed ? undefined : proxy
}

function refused(url, status) {
  return new Failure(`${plain(url)} answered ${status}`)
}

/** An address as it may be shown: without its password. */
export function plain(address) {
  const url = new URL(address)
  url.username = ''
  url.password = ''
  return url.href
}

const decoded = decodeURIComponent
