'use strict';

const assert = require('assert');

class GatewayError extends Error {
  constructor(service, identifier, cause) {
    super(`${service}: lookup of ${identifier} failed`);
    this.service = service;
    this.cause = cause;
  }
}

/** Lookups for the support desk. What does not exist is null; any other trouble is a GatewayError and is counted. */
class Gateway {
  constructor(http, metrics) {
    this.http = http;
    this.metrics = metrics;
  }

  async findCustomer(id) {
    try {
      const body = await this.http.get(`/customers/${encodeURIComponent(id)}`);
      return { id: body.id, name: body.full_name, since: new Date(body.created_at) };
    } catch (error) {
      if (error.status === 404) return null;
      this.metrics.increment('gateway.customers.error');
      throw new GatewayError('customers', id, error);
    }
  }

  async findInvoice(number) {
    try {
      const body = await this.http.get(`/invoices/${encodeURIComponent(number)}`);
      return { number: body.number, cents: body.amount_cents, due: new Date(body.due_at) };
    } catch (error) {
      if (error.status === 404) return null;
      this.metrics.increment('gateway.invoices.error');
      throw new GatewayError('invoices', number, error);
    }
  }

  // A subscription comes as { "id", "plan_code", "renews_at" } and is given as { id, plan, renews }.
  async findSubscription(id) {
⟦    try {
      const body = await this.http.get(`/subscriptions/${encodeURIComponent(id)}`);
      return { id: body.id, plan: body.plan_code, renews: new Date(body.renews_at) };
    } catch (error) {
      if (error.status === 404) return null;
      this.metrics.increment('gateway.subscriptions.error');
      throw new GatewayError('subscriptions', id, error);
    }
⟧  }

  async overview(customerId, invoiceNumber, subscriptionId) {
    const [customer, invoice, subscription] = await Promise.all([
      this.findCustomer(customerId),
      this.findInvoice(invoiceNumber),
      this.findSubscription(subscriptionId),
    ]);
    return { customer, invoice, subscription };
  }
}
⟦tests⟧
let finished = false;
process.on('exit', () => assert.ok(finished, 'the tests did not come to their end'));

(async () => {
  const failure = (status) => Object.assign(new Error(`status ${status}`), { status });
  const bodies = {
    '/customers/c1': { id: 'c1', full_name: 'Ada Byron', created_at: '2020-02-01T00:00:00Z' },
    '/invoices/7': { number: 7, amount_cents: 1250, due_at: '2024-03-01T00:00:00Z' },
    '/subscriptions/s1': { id: 's1', plan_code: 'team', renews_at: '2025-01-31T00:00:00Z', seats: 9 },
    '/subscriptions/eu%2F7': { id: 'eu/7', plan_code: 'solo', renews_at: '2025-06-30T00:00:00Z' },
    '/subscriptions/busy': failure(503),
  };
  const paths = [];
  const counts = {};
  const http = {
    async get(path) {
      paths.push(path);
      const body = bodies[path] || failure(404);
      if (body instanceof Error) throw body;
      return body;
    },
  };
  const metrics = { increment: (name) => { counts[name] = (counts[name] || 0) + 1; } };
  const gateway = new Gateway(http, metrics);

  assert.deepStrictEqual(await gateway.findSubscription('s1'), {
    id: 's1',
    plan: 'team',
    renews: new Date('2025-01-31T00:00:00Z'),
  });
  assert.strictEqual((await gateway.findSubscription('eu/7')).plan, 'solo');
  assert.strictEqual(await gateway.findSubscription('s2'), null);
  assert.deepStrictEqual(counts, {});
  assert.deepStrictEqual(paths, ['/subscriptions/s1', '/subscriptions/eu%2F7', '/subscriptions/s2']);

  await assert.rejects(gateway.findSubscription('busy'), (error) => {
    assert.ok(error instanceof GatewayError);
    assert.strictEqual(error.message, 'subscriptions: lookup of busy failed');
    assert.strictEqual(error.service, 'subscriptions');
    assert.strictEqual(error.cause.status, 503);
    return true;
  });
  assert.deepStrictEqual(counts, { 'gateway.subscriptions.error': 1 });

  const { customer, invoice, subscription } = await gateway.overview('c1', 7, 's1');
  assert.deepStrictEqual([customer.name, invoice.cents, subscription.plan], ['Ada Byron', 1250, 'team']);
  finished = true;
})();
