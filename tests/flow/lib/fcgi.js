"use strict";
// A FastCGI client by hand, to say what nginx never would.

const net = require("node:net");

const BEGIN = 1;
const PARAMS = 4;
const STDIN = 5;
const STDOUT = 6;
const END = 3;

function record(type, content, id = 1) {
	const head = Buffer.alloc(8);
	head[0] = 1;
	head[1] = type;
	head.writeUInt16BE(id, 2);
	head.writeUInt16BE(content.length, 4);
	return Buffer.concat([head, content]);
}

// A responder that closes the connection afterwards, or keeps it.
function begin(keep = false) {
	return record(BEGIN, Buffer.from([0, 1, keep ? 1 : 0, 0, 0, 0, 0, 0]));
}

function length(n) {
	if (n < 128)
		return Buffer.from([n]);
	const four = Buffer.alloc(4);
	four.writeUInt32BE((n | 0x80000000) >>> 0);
	return four;
}

function pair(name, value) {
	const n = Buffer.from(name);
	const v = Buffer.from(value);
	return Buffer.concat([length(n.length), length(v.length), n, v]);
}

// Cuts bytes into pieces of `size`, or at the given places.
function cut(bytes, size) {
	const pieces = [];
	const places = Array.isArray(size) ? [...size, bytes.length] : null;
	let from = 0;
	while (from < bytes.length) {
		const to = places ? places[pieces.length] : from + size;
		pieces.push(bytes.subarray(from, to));
		from = to;
	}
	return pieces;
}

function params(values, size = 65535) {
	const bytes = Buffer.concat(Object.entries(values)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => pair(name, value)));
	return Buffer.concat([...cut(bytes, size).map((p) => record(PARAMS, p)),
		record(PARAMS, Buffer.alloc(0))]);
}

function stdin(bytes, size = 65535) {
	return Buffer.concat([...cut(bytes, size).map((p) => record(STDIN, p)),
		record(STDIN, Buffer.alloc(0))]);
}

// What came back: an HTTP answer, or none when the worker hung up.
function parse(bytes) {
	let out = Buffer.alloc(0);
	let ended = false;
	for (let at = 0; at + 8 <= bytes.length;) {
		const size = bytes.readUInt16BE(at + 4);
		const content = bytes.subarray(at + 8, at + 8 + size);
		if (bytes[at + 1] === STDOUT)
			out = Buffer.concat([out, content]);
		ended = ended || bytes[at + 1] === END;
		at += 8 + size + bytes[at + 6];
	}
	const text = out.toString();
	const split = text.indexOf("\r\n\r\n");
	const head = text.slice(0, split);
	const status = /^Status: (\d+)/mi.exec(head);
	return { ended, head, text, body: text.slice(split + 4),
		status: split < 0 ? null : status ? Number(status[1]) : 200 };
}

// Sends raw bytes on a connection of its own and reads until the end.
function exchange(path, bytes, { timeout = 5000, end = false } = {}) {
	return new Promise((done, fail) => {
		const parts = [];
		const socket = net.connect(path, () => {
			socket.write(bytes);
			if (end)
				socket.end();
		});
		const timer = setTimeout(() => {
			socket.destroy();
			done({ ...parse(Buffer.concat(parts)), timedOut: true });
		}, timeout);
		socket.on("data", (part) => parts.push(part));
		socket.on("error", (error) => {
			if (error.code === "ENOENT" || error.code === "EACCES")
				fail(error);
		});
		socket.on("close", () => {
			clearTimeout(timer);
			done({ ...parse(Buffer.concat(parts)), timedOut: false });
		});
	});
}

// The bytes of a whole request. options: size of STDIN records, extra
// parameters, whether the connection is kept.
function whole(method, uri, options = {}) {
	const body = Buffer.from(options.body || "");
	const [, query = ""] = uri.split("?");
	return Buffer.concat([begin(options.keep), params({
		REQUEST_METHOD: method,
		REQUEST_URI: uri,
		DOCUMENT_URI: uri.split("?")[0],
		SCRIPT_NAME: uri.split("?")[0],
		QUERY_STRING: query,
		CONTENT_TYPE: "application/json",
		CONTENT_LENGTH: body.length ? String(body.length) : "",
		SERVER_PROTOCOL: "HTTP/1.1",
		REMOTE_ADDR: "127.0.0.1",
		...options.params,
	}, options.paramSize), stdin(body, options.size)]);
}

const ask = (path, method, uri, options = {}) =>
	exchange(path, whole(method, uri, options), options);

// A connection that is kept, as nginx does: one request after the other.
class Kept {
	constructor(path) {
		this.bytes = Buffer.alloc(0);
		this.closed = false;
		this.asked = null;
		this.socket = net.connect(path);
		this.socket.on("data", (part) => this.read(part));
		this.socket.on("error", () => {});
		this.socket.on("close", () => {
			this.closed = true;
			if (this.asked)
				this.asked.fail(new Error("the worker hung up"));
		});
	}

	read(part) {
		this.bytes = Buffer.concat([this.bytes, part]);
		const answer = parse(this.bytes);
		if (!answer.ended || !this.asked)
			return;
		this.bytes = Buffer.alloc(0);
		const { done } = this.asked;
		this.asked = null;
		done(answer);
	}

	ask(method, uri, options = {}) {
		return new Promise((done, fail) => {
			if (this.closed)
				throw new Error("the worker has hung up");
			this.asked = { done, fail };
			this.socket.write(whole(method, uri,
				{ ...options, keep: true }));
		});
	}

	close() {
		this.asked = null;
		this.socket.destroy();
	}
}

module.exports = { record, begin, pair, length, params, stdin, whole, exchange,
	ask, Kept, PARAMS, STDIN };
