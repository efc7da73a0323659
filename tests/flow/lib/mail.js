"use strict";
// Mail as it arrives: the demo's folder, a mail server of a few words, and a
// reader of messages that shares nothing with the shop's writer.

const fs = require("node:fs");
const net = require("node:net");
const { randomBytes } = require("node:crypto");
const { STATE } = require("./shop.js");
const { until } = require("./wait.js");

const FOLDER = `${STATE}/mail`;

const address = (word = "b") =>
	`${word}-${randomBytes(6).toString("hex")}@buyer.test`;

function unquote(text) {
	return Buffer.from(text.replace(/=\r\n/g, "")
		.replace(/=([0-9A-F]{2})/g, (_, hex) =>
			String.fromCharCode(parseInt(hex, 16))), "latin1").toString();
}

// Words of RFC 2047; blanks between two of them are not part of either.
function decodeWords(text) {
	return text.replace(/\?=\s+=\?/g, "?==?")
		.replace(/=\?utf-8\?Q\?([^?]*)\?=/gi, (_, word) =>
			unquote(word.replace(/_/g, " ")));
}

// A message: its headers by lower-case name, its subject and text decoded;
// words is the text without its line ends.
function read(bytes) {
	const raw = bytes.toString("latin1");
	const cut = raw.indexOf("\r\n\r\n");
	const headers = {};
	for (const line of raw.slice(0, cut).replace(/\r\n[ \t]+/g, " ")
		.split("\r\n")) {
		const [, name, value] = /^([!-9;-~]+): (.*)$/.exec(line);
		headers[name.toLowerCase()] = value;
	}
	const text = unquote(raw.slice(cut + 4)).replace(/\r\n/g, "\n");
	return { raw, headers, subject: decodeWords(headers.subject), text,
		words: text.replace(/\s+/g, " ") };
}

// The mails to somebody, in the order in which they were owed.
function mailsTo(recipient) {
	return fs.readdirSync(FOLDER).filter((name) => name.endsWith(".eml"))
		.sort((a, b) => Number(a.split("-")[1]) - Number(b.split("-")[1]))
		.map((name) => ({ name, kind: name.split("-")[0],
			...read(fs.readFileSync(`${FOLDER}/${name}`)) }))
		.filter(({ headers }) => headers.to === `<${recipient}>`);
}

const kindsTo = (recipient) => mailsTo(recipient).map(({ kind }) => kind);

// Waits for a mail of this kind.
function mailOf(recipient, kind) {
	return until(`mail ${kind} to ${recipient}`, () =>
		mailsTo(recipient).find((mail) => mail.kind === kind));
}

// A mail server. answer(verb, line) says what it answers, null hangs up, a
// promise makes the client wait; undefined is the usual.
class MailServer {
	constructor(answer = () => undefined) {
		this.answer = answer;
		this.mails = []; // those that it has taken
		this.tried = []; // whole messages, taken or not
		this.sockets = new Set();
		this.server = net.createServer((socket) => this.talk(socket));
	}

	async start() {
		await new Promise((done) =>
			this.server.listen(0, "127.0.0.1", done));
		return `smtp://127.0.0.1:${this.server.address().port}`;
	}

	stop() {
		this.sockets.forEach((socket) => socket.destroy());
		return new Promise((done) => this.server.close(done));
	}

	talk(socket) {
		const session = { from: "", to: "", data: null };
		let text = "";
		let turn = Promise.resolve();
		this.sockets.add(socket);
		socket.on("close", () => this.sockets.delete(socket));
		socket.on("error", () => {});
		socket.write("220 mail.test\r\n");
		socket.on("data", (part) => {
			text += part.toString("latin1");
			for (let end; (end = text.indexOf("\r\n")) >= 0;) {
				const line = text.slice(0, end);
				text = text.slice(end + 2);
				turn = turn.then(() => this.line(socket, session, line));
			}
		});
	}

	async line(socket, session, line) {
		if (session.data !== null && line !== ".") {
			session.data += `${line.replace(/^\./, "")}\r\n`;
			return;
		}
		const verb = line.split(" ")[0];
		const mail = verb === "." && { from: session.from, to: session.to,
			...read(Buffer.from(session.data, "latin1")) };
		if (mail)
			this.tried.push(mail);
		session.data = null;
		let words = await this.answer(verb, line, mail);
		if (words === null) {
			socket.destroy();
			return;
		}
		if (words === undefined)
			words = { EHLO: "250 mail.test", DATA: "354 go on",
				QUIT: "221 bye" }[verb] || "250 fine";
		if (verb === "MAIL" || verb === "RCPT")
			session[verb === "MAIL" ? "from" : "to"] = /<(.*?)>/.exec(line)[1];
		if (words.startsWith("354"))
			session.data = "";
		if (mail && words.startsWith("250"))
			this.mails.push(mail);
		if (!socket.destroyed)
			socket.write(`${words}\r\n`);
	}
}

module.exports = { address, mailsTo, kindsTo, mailOf, MailServer };
